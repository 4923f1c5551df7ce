package scripts_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// random makes calls of every script on one server.
func random(b *box, seed uint64) *duel {
	return newDuel(seed, 3, b, b)
}

// as puts another text into a call of a script; other commands stay as they are.
func as(command []string, change func(scripts.Script) scripts.Script) []string {
	if command[0] != "EVAL" {
		return command
	}
	command = slices.Clone(command)
	command[1] = change(scripts.Script{Text: command[1]}).Text
	return command
}

// Lua 5.4, as in Dragonfly, has table.unpack where 5.1 has unpack.
func TestScriptsRunWhereOnlyTableHasUnpack(t *testing.T) {
	b := realBox(t)
	d := random(b, 1)
	hidden := func(s scripts.Script) scripts.Script {
		return scripts.Script{Text: "local table = { unpack = unpack, concat = table.concat, sort = table.sort }\nlocal unpack = nil\n" + s.Text}
	}
	called := make(map[string]bool)
	for range 1500 {
		command := d.command()
		if answer := b.do(as(command, hidden)...); command[0] == "EVAL" && strings.HasPrefix(answer, "!") {
			t.Fatalf("%s answered %s", shown(command), answer)
		}
		called[command[1]] = true
	}
	for _, s := range all {
		if !called[s.Text] {
			t.Errorf("%s was not called", s.Name)
		}
	}
}

// undeclared refuses what a script does with a key that was not declared, and says so in the end. PUBLISH and PUBSUB name
// channels, which cannot be declared.
func undeclared(s scripts.Script) scripts.Script {
	return wrapped(s, `
local declared, found = {}, nil
for _, key in ipairs(KEYS) do declared[key] = true end
local keyless = { TIME = true, PUBLISH = true, SPUBLISH = true, PUBSUB = true }`, `
	if keyless[name] then return nil end
	local keys = { (...) }
	if name == 'EXISTS' then keys = { ... } end
	for _, key in ipairs(keys) do
		if not declared[key] then found = name .. ' ' .. key end
	end
	return nil`, "if found then return redis.error_reply('undeclared: ' .. found) end")
}

// Where servers refuse keys that a call does not declare, Options.DeclaredKeysOnly keeps to those that are.
func TestScriptsKeepToDeclaredKeys(t *testing.T) {
	b := realBox(t)
	d := random(b, 2)
	for range 1500 {
		command := as(d.command(), undeclared)
		if strings.Contains(command[1], scripts.ReleaseRead.Text) || strings.Contains(command[1], scripts.ReleaseReadFromLine.Text) {
			n, _ := strconv.Atoi(command[2])
			command[3+n+1] = "1" // as the option has it
		}
		if answer := b.do(command...); command[0] == "EVAL" && strings.HasPrefix(answer, "!") {
			t.Fatalf("%q answered %s", command[2:], answer)
		}
	}
	for _, s := range scenes() {
		b := b.fresh(t)
		s.prepare(b)
		args := slices.Clone(s.args)
		if s.script.Name == scripts.ReleaseRead.Name || s.script.Name == scripts.ReleaseReadFromLine.Name {
			args[1] = 1
		}
		if answer := b.eval(undeclared(s.script), s.keys, args...); strings.HasPrefix(answer, "!") {
			t.Errorf("%s: answered %s", s.name, answer)
		}
	}
	b.want(b.eval(undeclared(scripts.Rights), []string{"probe"}, "probe", "probe:channel", "PUBLISH"), "", "rights")
}

// A reader that may not look at the keys of others leaves the lock to them: it ends by its TTL, when they are dead.
func TestAReaderThatKeepsToDeclaredKeysLeavesTheLockToOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		release := func(owner string, declared int) string {
			return b.eval(scripts.ReleaseRead, []string{one, one, scripts.HoldKey(one, owner)}, "PUBLISH", declared, owner, nobody)
		}
		for _, alive := range []bool{false, true} {
			b.must("FLUSHALL")
			reading(standing("mode", "read", "me:1", "1", "java:1", "1"), "me:1")(b)
			if alive {
				b.must("SET", scripts.HoldKey(one, "java:1"), "1", "PX", "60000")
			}
			b.want(release("me:1", 1), "0", "release")
			b.stands(one, "java:1=1", "mode=read")
			b.lasts(one, half)
			b.want(b.must("EXISTS", scripts.HoldKey(one, "me:1")), "0", "EXISTS of its own key")
			b.want(release("java:1", 1), "0", "release of the last one")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		}
	})
}

// Lua counts with doubles. What it could not tell exactly is refused, and stays.
func TestNumbersAreExactOrRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		refused := fault(scripts.OutOfRange)
		call := 0
		change := func(s scripts.Script, n int64) string {
			call++
			return b.eval(s, keysOf(s), "PUBLISH", 0, call, n, nobody)
		}
		for _, s := range []scripts.Script{scripts.AddPermits, scripts.PermitAdd, scripts.Give} {
			for _, c := range []struct {
				from    string
				n       int64
				want    string
				refused bool
			}{
				{"9007199254740990", 1, "9007199254740991", false},
				{"9007199254740990", 2, "9007199254740990", true},
				{"9007199254740993", 2, "9007199254740993", true},
				{"9223372036854775807", 1, "9223372036854775807", true},
			} {
				b.run(t, fmt.Sprintf("%s: %s and %d", s.Name, c.from, c.n), func(t *testing.T, b *box) {
					b.must("SET", one, c.from)
					want := "0"
					if c.refused {
						want = refused
					}
					b.want(change(s, c.n), want)
					b.want(b.must("GET", one), c.want, "the number")
				})
			}
		}
		b = b.fresh(t)
		b.must("SET", one, "9007199254740993")
		b.want(change(scripts.DrainPermits, 0), refused, "drain")
		b.want(b.eval(scripts.Take, poolKeys, "PUBLISH", 0, someUUID, 100, 1, "2x1,", 0, 0, nobody), refused, "take")
		b.want(change(scripts.CountDown, 1), refused, "count down")
		b.must("ZADD", permitKeys[1], "4000000000000", idOf(1))
		b.want(b.eval(scripts.PermitFree, permitKeys, "PUBLISH", 0, engineBytes, 101, "1,1,0;", "", nobody), refused, "permit_free")
		b.want(b.must("GET", one), "9007199254740993", "the number")
		b.want(change(scripts.DeleteCount, 0), "1", "delete")
		b.want(b.must("EXISTS", one), "0", "EXISTS")
		b.must("SET", counter, "9007199254740993")
		b.want(b.eval(scripts.AcquireFenced, []string{one, counter}, 0, 64, 0, "me:1", hour), refused, "a fenced acquire")
		b.want(b.must("EXISTS", one), "0", "EXISTS")
	})
}
