package scripts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// states are how a server comes to refuse writes, and to take them again.
var states = map[scripts.Fault]struct{ fall, recover []string }{
	scripts.ReadOnly:   {[]string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
	scripts.NoReplicas: {[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
	scripts.OutOfMem:   {[]string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
	scripts.Misconf:    {[]string{"CONFIG", "SET", "save", "3600 1"}, []string{"CONFIG", "SET", "save", ""}},
}

// unsavable is a server whose last snapshot has failed: where snapshots are asked for, it refuses writes.
func unsavable(t *testing.T) *box {
	b := realBox(t)
	dir := strings.Fields(strings.Trim(b.must("CONFIG", "GET", "dir"), "[]"))[1]
	if err := os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700); err != nil { // where the snapshot belongs
		t.Fatal(err)
	}
	b.must("BGSAVE")
	redistest.Await(t, "the snapshot to fail", func() bool {
		return strings.Contains(b.must("INFO", "persistence"), "rdb_last_bgsave_status:err")
	})
	return b
}

// later makes what stands end in half an hour, as if half of its hour had passed.
func (b *box) later() {
	b.Helper()
	for _, key := range b.list("KEYS", "*") {
		if n, _ := strconv.Atoi(b.must("PTTL", key)); n > 0 && !slices.Contains(countKeys, key) {
			b.must("PEXPIRE", key, "1800000")
		}
	}
	for _, id := range b.list("ZRANGE", permitKeys[1], "0", "-1") {
		b.must("ZADD", permitKeys[1], "XX", strconv.FormatInt(b.serverMillis()+half.Milliseconds(), 10), id)
	}
}

// A call runs, and is sent again where the server has come to refuse writes, and once more where it takes them again.
func TestAReplyOfAServerThatRefusesWritesIsTrue(t *testing.T) {
	t.Parallel()
	b := unsavable(t)
	for why, state := range states {
		for _, s := range scenes() {
			for _, ran := range []bool{false, true} {
				b.run(t, why.String()[:3]+": "+s.name+map[bool]string{true: ", again"}[ran], func(t *testing.T, b *box) {
					s.prepare(b)
					before := b.things()
					if ran {
						s.run(t, b, before, s.script, scripts.None, true)
						b.later()
						before = b.things()
					}
					b.must(state.fall...)
					s.run(t, b, before, s.script, why, true)
					b.must(state.recover...)
					s.run(t, b, before, s.script, scripts.None, true)
				})
			}
		}
	}
}

// confirming are the scenes of what counts with Options.Replicas when a WAIT says so.
func confirming() []scene {
	var some []scene
	for _, s := range scenes() {
		if slices.Contains([]string{
			"acquire", "acquire_fenced", "renew", "confirm", "adopt", "acquire_read", "acquire_write", "renew_read", "downgrade", "fair_ask",
			"fair_release", "acquire_simple", "acquire_simple_in_line", "renew_simple", "confirm_simple", "adopt_simple", "take", "permit_take", "permit_renew",
		}, s.script.Name) {
			some = append(some, s)
		}
	}
	return append(some,
		scene{"look for a hold", scripts.Renew, standing("me:1", "1"), names, []any{"me:1", 1}, nil},
		scene{"look for permits", scripts.PermitRenew, pooled(3, 2, 1), permitKeys[1:2], []any{engineBytes, "1,2,1;"}, nil})
}

// offset is how far the stream to replicas has come.
func (b *box) offset() int64 {
	b.Helper()
	_, rest, _ := strings.Cut(b.must("INFO", "replication"), "master_repl_offset:")
	line, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.ParseInt(line, 10, 64)
	return n
}

// A WAIT covers what its connection has written. So whatever gives or prolongs something writes, also when the same is asked
// twice within a millisecond: in the script that asks twice, time stands still.
// invariant: replicas-acknowledge
func TestAGrantIsAlwaysWritten(t *testing.T) {
	b := realBox(t, "--repl-ping-replica-period", "3600") // no other bytes in the stream
	redistest.StartReplica(t, b.redis)
	for _, s := range confirming() {
		t.Run(s.name, func(t *testing.T) {
			grown := func(script scripts.Script) (int64, scripts.Reply) {
				b := b.fresh(t)
				s.prepare(b)
				was := b.offset()
				reply := scripts.Reply(number(t, b.eval(script, s.keys, s.args...)))
				return b.offset() - was, reply
			}
			twice := wrapped(s.script, "", "return nil", "reply = script()")
			once, first := grown(s.script)
			both, second := grown(twice)
			if first < 0 || first == 0 && slices.Contains([]string{"take", "fair_release"}, s.script.Name) {
				return // it gave nothing
			}
			if (first > 0) != (second > 0) || second < 0 {
				t.Errorf("answered %d, then %d", first, second)
			}
			if both <= once {
				t.Errorf("once wrote %d, twice %d", once, both)
			}
		})
	}
}

// What the busiest scripts cost.
func TestTheUsualCallRunsFewCommands(t *testing.T) {
	b := realBox(t)
	for want, s := range map[string]scene{
		"EXISTS HSET PEXPIRE":            {"acquire", scripts.Acquire, nil, names, []any{0, "me:1", hour}, nil},
		"TIME PTTL GET SET HSET PEXPIRE": {"acquire fenced", scripts.AcquireFenced, nil, []string{one, counter}, []any{0, 64, 0, "me:1", hour}, nil},
		"TIME PTTL HSET PEXPIRE ZREM":    {"acquire in line", scripts.AcquireInLine, nil, lineNames, []any{0, 64, 0, "PUBLISH", "me:1", hour, 77}, nil},
		"EXISTS HDEL PUBLISH":            {"release", scripts.Release, standing("me:1", "1"), lineNames[:2], []any{"PUBLISH", "me:1", nobody}, nil},
		"TIME PTTL HMGET ZSCORE ZRANGE ZADD PEXPIRE": {"stand in line", scripts.AcquireInLine, lined(standing("me:1", "1"), ann+":1"), lineNames,
			[]any{0, 64, 0, "PUBLISH", bob + ":1", hour, 77}, nil},
		"TIME PTTL HMGET ZSCORE ZRANGE PEXPIRE HLEN HGETALL": {"stand in line again", scripts.AcquireInLine, func(b *box) {
			standing("me:1", "1")(b)
			b.asks(bob, 1, secret)
		}, lineNames, []any{0, 64, 0, "PUBLISH", bob + ":1", hour, 77}, nil},
		"TIME PTTL HMGET ZSCORE ZADD ZRANGE PEXPIRE HLEN HGETALL": {"stand in line for longer", scripts.AcquireInLine, lined(standing("me:1", "1"), bob+":1"), lineNames,
			[]any{0, 64, 0, "PUBLISH", bob + ":1", hour, 77}, nil},
		"EXISTS EXISTS HDEL ZRANGE TIME ZSCORE EXISTS PUBSUB ZREM HSET PEXPIRE PUBLISH": {"release to the line", scripts.Release, func(b *box) {
			lined(standing("me:1", "1"), bob+":2")(b)
			b.must("ZADD", lineNames[1], "1", "since")
			b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
		}, lineNames[:2], []any{"PUBLISH", "me:1", channel}, nil},
		"HEXISTS PEXPIRE":                  {"renew", scripts.Renew, standing("me:1", "1"), names, []any{"me:1", hour}, nil},
		"HMGET HSET HDEL PEXPIRE PUBLISH":  {"detach", scripts.Detach, standing("me:1", "1"), unfenced, detaching, nil},
		"HEXISTS PEXPIRE PUBSUB EXISTS":    {"confirm", scripts.Confirm, standing("me:1", "1"), lineNames[:2], []any{"PUBLISH", "me:1", hour, nobody}, nil},
		"EXISTS HMGET PTTL PEXPIRE":        {"write again", scripts.AcquireWrite, standing("mode", "write", "me:1:write", "1"), lineNames[:1], []any{0, "me:1:write", hour}, nil},
		"EXISTS HGET HLEN DEL PUBLISH":     {"release a writer", scripts.ReleaseWrite, standing("mode", "write", "me:1:write", "1"), lineNames[:2], []any{"PUBLISH", "me:1:write", nobody}, nil},
		"EXISTS HGET HLEN DEL DEL PUBLISH": {"release a reader", scripts.ReleaseRead, standing("mode", "read", "me:1", "1"), readNames, []any{"PUBLISH", 0, "me:1", nobody}, nil},
		"EXISTS HMGET PTTL EXISTS ZRANGE TIME PTTL SET HSET PEXPIRE ZREM ZRANGE": {"read in line", inRound(scripts.AcquireRead, 140), firstToRead(standing("mode", "read", "java:1", "1")), readNames,
			[]any{0, "PUBLISH", "me:1", hour, 77}, nil},
		"EXISTS HMGET PTTL ZSCORE ZRANGE ZADD PEXPIRE": {"stand in line to read", scripts.AcquireRead, lined(standing("mode", "write", ann+":1:write", "1"), ann+":2:write"), readNames,
			[]any{0, "PUBLISH", "me:1", hour, 77}, nil},
		"EXISTS HGET HLEN DEL ZRANGE TIME ZSCORE EXISTS PUBSUB ZREM HSET PEXPIRE PUBLISH": {"release a writer to the line", scripts.ReleaseWrite, func(b *box) {
			lined(standing("mode", "write", "me:1:write", "1"), bob+":2:write")(b)
			b.must("ZADD", lineNames[1], "1", "since")
			b.listen(scripts.Inbox(scripts.RWChannel(one), bob))
		}, lineNames[:2], []any{"PUBLISH", "me:1:write", scripts.RWChannel(one)}, nil},
		"EXISTS SET":         {"acquire simple", scripts.AcquireSimple, nil, names, []any{0, "me:1", hour}, nil},
		"GET PEXPIRE":        {"renew simple", scripts.RenewSimple, simply("me:1"), names, []any{"me:1", hour}, nil},
		"EXISTS GET DEL":     {"release simple", scripts.ReleaseSimple, simply("me:1"), lineNames[:2], []any{"PUBLISH", "me:1", nobody, 100}, nil},
		"EXISTS GET PEXPIRE": {"confirm simple", scripts.ConfirmSimple, simply("me:1"), lineNames[:2], []any{"me:1", hour}, nil},
		"TIME LINDEX PTTL LINDEX LINDEX LINDEX HSET PEXPIRE LINDEX": {"ask for a free fair lock", scripts.FairAsk, nil, fairKeys, asking(1, "NEW", 1, 1), nil},
	} {
		b := b.fresh(t)
		s.prepare(b)
		// A turn that is remembered begins now, however slow this machine is.
		const state = "local now = server.call('TIME') server.pcall('ZADD', KEYS[2] or '', 'XX', 2^52 + now[1] * 1000 + math.floor(now[2] / 1000), 'since') local names = {}"
		counted := wrapped(s.script, state, "names[#names + 1] = name", "reply = table.concat(names, ' ')")
		b.want(b.eval(counted, s.keys, s.args...), want, s.name)
	}
}
