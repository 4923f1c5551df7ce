package scripts_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// What Redis says of a refusal, wherever the words stand, and the number that a script answers.
func TestWordsOfRefusals(t *testing.T) {
	b := realBox(t)
	for words, want := range map[string]int{
		"READONLY You can't write": 1, "OOM command not allowed": 2, "MISCONF Redis is configured": 3, "NOREPLICAS Not enough": 4,
		"NOPERM this user has no permissions": 5, "user executing the script can't run this command": 6,
		"ERR The user executing the script can't run this command": 6, "ACL failure in script: The user": 6, "ERR ACL failure in script: The user": 6,
		"non local key in a cluster node": 9, "ERR Script attempted to access a non local key in a cluster node": 9, // until Redis 8, Valkey 8
		"ERR Attempted to access a non local key in a cluster node":                                                         9, // Valkey 9
		"ERR Unable to execute command 'hset' in script because undeclared keys were accessed during rehashing of the slot": 9, // Redis 8
		"ERR Script attempted to access a slot not served":                                                                  9, "ERR Script attempted to execute a command while the cluster is down": 9,
		"ERR Script attempted to execute a write command while the cluster is down and readonly": 9,
		"ERR Script attempted to access keys that do not hash to the same slot":                  8, "ERR script tried accessing undeclared key": 8, // Dragonfly
		"ERR anything else": 8,
	} {
		b := b.fresh(t)
		standing("me:1", "1")(b)
		refused := wrapped(scripts.Renew, "", fmt.Sprintf("if name == 'PEXPIRE' then return %q end", words), "")
		b.want(b.eval(refused, names, "me:1", hour), fault(scripts.Fault(want)), words)
	}
}

// answering is a script to which a command always gives this answer, in Lua.
func answering(s scripts.Script, command, answer string) scripts.Script {
	return scripts.Script{Name: s.Name, Text: `
local server = redis
local redis = setmetatable({
	pcall = function(name, ...)
		if name == '` + command + `' then return ` + answer + ` end
		return server.pcall(name, ...)
	end,
}, { __index = server })
` + s.Text}
}

// An answer that nobody expected is no success.
func TestAnswersThatNobodyExpected(t *testing.T) {
	b := realBox(t)
	for _, c := range []struct {
		name, command, answer string
	}{
		{"acquire", "HSET", "0"}, {"acquire", "HSET", "{ ok = 'OK' }"}, {"acquire", "PEXPIRE", "0"}, {"acquire again", "PEXPIRE", "0"}, {"acquire fenced", "HSET", "0"}, {"acquire fenced", "HSET", "2"},
		{"acquire fenced again", "PEXPIRE", "0"}, {"renew", "PEXPIRE", "0"}, {"renew", "PEXPIRE", "2"}, {"confirm", "PEXPIRE", "0"}, {"adopt", "HDEL", "0"}, {"adopt", "PEXPIRE", "0"}, {"release", "HDEL", "2"},
		{"release the last reader", "DEL", "0"}, {"release a reader beside another", "HDEL", "0"}, {"release a writer", "DEL", "0"},
		{"release the last reader to the line", "DEL", "0"}, {"release a writer to the line", "DEL", "0"}, {"write in line", "PEXPIRE", "0"}, {"read in line", "PEXPIRE", "0"},
		{"release a writer that reads", "HDEL", "0"}, {"downgrade", "HDEL", "0"}, {"ask for a free fair lock", "HSET", "0"},
		{"acquire simple", "SET", "{}"}, {"acquire simple again", "PEXPIRE", "0"}, {"acquire simple in line", "SET", "{}"}, {"renew simple", "PEXPIRE", "0"},
		{"confirm simple", "PEXPIRE", "0"}, {"adopt simple", "SET", "{}"}, {"detach simple", "SET", "{}"}, {"release simple", "DEL", "0"},
	} {
		for _, s := range scenes() {
			if s.name != c.name {
				continue
			}
			b := b.fresh(t)
			s.prepare(b)
			reply := b.eval(answering(s.script, c.command, c.answer), s.keys, s.args...)
			b.want(reply, fault(scripts.Other), s.name, " when ", c.command, " answers ", c.answer, ":")
		}
	}
}

// A Redis before 7.0 does not compare TTLs by itself: a renewal that may not look at the TTL changes nothing.
func TestARenewalWithoutTheRightToLook(t *testing.T) {
	b := realBox(t)
	standing("me:1", "1")(b)
	blind := answering(before7(scripts.Renew), "PTTL", "{ err = "+strconv.Quote(refusals[scripts.NoPerm])+" }")
	b.want(b.eval(blind, names, "me:1", hour), fault(scripts.NoPerm), "renew")
	b.lasts(one, half)
}

// The longest TTL that is told is 2^42 ms.
func TestTheLongestTTL(t *testing.T) {
	b := realBox(t)
	standing("java:1", "1")(b)
	for ttl, want := range map[string]string{"4398046511103": "-4398046511105", "4398046511104": "-4398046511106", "4398046511105": "-4398046511106"} {
		b.want(b.eval(answering(scripts.Acquire, "PTTL", ttl), names, 0, "me:1", hour), want, "acquire of what has ", ttl, " ms left")
	}
}

// A lease that is longer than Lua can count is kept as long as it can.
func TestARenewalOfALeaseOfAges(t *testing.T) {
	b := realBox(t)
	standing("me:1", "1")(b)
	b.must("PEXPIRE", one, "9000000000000000000")
	b.want(b.eval(scripts.Renew, names, "me:1", hour), "1", "renew")
	if ttl := b.thing(one).ttl; ttl > 1<<53 || ttl < 1<<53-60_000 {
		t.Errorf("it lasts for %d ms, want 2^53", ttl)
	}
}
