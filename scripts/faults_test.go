package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// others are keys that are no mutex, and what they are called.
var others = map[string][]string{
	"string":               {"SET", one, "x"},
	"list":                 {"RPUSH", one, "x"},
	"set":                  {"SADD", one, "x"},
	"zset":                 {"ZADD", one, "1", "x"},
	"hash of another kind": {"HSET", one, "mode", "read", "java:1", "1"},
	"stream":               {"XADD", one, "*", "x", "y"},
}

func TestForeignKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		for what, create := range others {
			b.run(t, "a "+what, func(t *testing.T, b *box) {
				b.must(create...)
				was := b.must("TYPE", one)
				for _, acquire := range []func() string{
					func() string { return b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour) },
					func() string { return b.eval(scripts.AcquireFenced, []string{one, two}, 0, 1, 0, "me:1", hour) },
					func() string { return b.eval(scripts.Adopt, []string{one, two}, 0, 1, 0, "java:1", "me:1", hour) },
					func() string {
						return b.eval(scripts.AcquireInLine, []string{one, two, one}, 0, 64, 0, "PUBLISH", "me:1", hour, 72)
					},
				} {
					reply := scripts.Reply(number(t, acquire()))
					if named, foreign := reply.Fault().Foreign(); !foreign || named != what {
						t.Errorf("an acquire answered %d: %q, want %q", reply, named, what)
					}
				}
				b.want(b.must("EXISTS", two), "0", "EXISTS of the counter, or of a line")
				b.want(b.eval(scripts.Release, []string{one, two}, "PUBLISH", "me:1", channel), "-1", "release")
				b.want(b.eval(scripts.ReleaseFromLine, []string{one, two}, "PUBLISH", "me:1", channel, 77), "-1", "release_from_line")
				b.want(b.eval(scripts.Renew, []string{one}, "me:1", hour), "-1", "renew")
				b.want(b.eval(scripts.Confirm, []string{one, two}, "PUBLISH", "me:1", hour, channel), "-1", "confirm")
				b.want(b.eval(scripts.Detach, unfenced, "PUBLISH", "me:1", "me:1:detached", hour, channel), "-1", "detach")
				b.want(b.eval(scripts.CountWaiters, unfenced, "PUBLISH", channel), "0", "count_waiters")
				if was != "hash" {
					said := b.eval(scripts.Inspect, []string{one})
					reply := number(t, strings.Fields(said[1:])[0])
					b.want(said, fmt.Sprintf("[%d 0 0]", reply), "inspect")
					if named, _ := scripts.Reply(reply).Fault().Foreign(); named != what {
						t.Errorf("inspect answered %d: %q, want %q", reply, named, what)
					}
				}
				b.want(b.must("TYPE", one), was, "TYPE")
				b.want(b.must("PTTL", one), "-1", "PTTL")
			})
		}
	})
}

// A fair lock is freed also when somebody has put something else where its queue belongs.
func TestFairLockWithAForeignQueueIsFreed(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		keys := fairKeys
		b.must("SET", keys[1], "no queue")
		b.must("ZADD", keys[3], "1", "you")
		b.must("HSET", one, "me:1", "1")
		release := func() string { return b.eval(scripts.FairRelease, keys, "PUBLISH", "me", "me:1", 0, hour, channel) }
		b.want(release(), "0", "release")
		b.want(b.must("EXISTS", one), "0", "EXISTS")
		b.want(release(), "-1", "release again")
		b.want(b.must("ZCARD", keys[3]), "1", "ZCARD of the engines")
	})
}

func number(t testing.TB, s string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("%q is no integer", s)
	}
	return n
}

// illnesses bring a server that holds a lock, one under me:1, into a state in which it refuses writes.
var illnesses = map[scripts.Fault]func(t *testing.T, b *box) *box{
	scripts.OutOfMem: func(t *testing.T, b *box) *box {
		b.must("CONFIG", "SET", "maxmemory", "1")
		return b
	},
	scripts.Misconf: func(t *testing.T, b *box) *box {
		dir := strings.Fields(strings.Trim(b.must("CONFIG", "GET", "dir"), "[]"))[1]
		if err := os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700); err != nil { // where the snapshot belongs
			t.Fatal(err)
		}
		b.must("CONFIG", "SET", "save", "3600 1")
		b.must("BGSAVE")
		redistest.Await(t, "the snapshot to fail", func() bool {
			return strings.Contains(b.must("INFO", "persistence"), "rdb_last_bgsave_status:err")
		})
		return b
	},
	scripts.NoReplicas: func(t *testing.T, b *box) *box {
		b.must("CONFIG", "SET", "min-replicas-to-write", "1")
		return b
	},
	scripts.ReadOnly: func(t *testing.T, b *box) *box {
		replica := redistest.StartReplica(t, b.redis)
		return &box{t, dial(t, replica.Addr(), "", ""), replica}
	},
}

func TestServerThatRefusesWrites(t *testing.T) {
	for ill, fall := range illnesses {
		t.Run(ill.String(), func(t *testing.T) {
			b := realBox(t)
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
			b.must("SET", three, "7") // a fencing counter
			b = fall(t, b)
			refused := fault(ill)
			b.want(b.eval(scripts.Acquire, []string{two}, 0, "me:2", hour), refused, "acquire of a free name")
			b.want(b.eval(scripts.Acquire, []string{two, "another"}, 0, "me:2", "me:3", hour), refused, "acquire of two")
			b.want(b.eval(scripts.AcquireFenced, []string{two, three}, 0, 64, 0, "me:2", hour), refused, "acquire of a fenced one")
			b.want(b.must("EXISTS", two, "another"), "0", "EXISTS")
			b.want(b.must("GET", three), "7", "the fencing counter")
			b.want(b.eval(scripts.Detach, unfenced, "PUBLISH", "me:1", "me:1:detached", hour, channel), refused, "detach")
			b.want(b.eval(scripts.Adopt, unfenced, 0, 64, 0, "me:1", "me:2", hour), refused, "adopt")
			b.want(b.eval(scripts.Adopt, []string{one, three}, 0, 64, 0, "me:1", "me:2", hour), refused, "adopt of a fenced one")
			b.want(b.must("GET", three), "7", "the fencing counter")
			b.stands(one, "me:1=1")
			b.want(b.eval(scripts.Acquire, []string{one}, 0, "me:2", hour)[:2], "-3", "acquire of a taken name")
			b.want(b.eval(scripts.Renew, []string{two}, "me:2", hour), "-1", "renewal of what is lost")
			renewal, release := refused, refused
			if ill == scripts.OutOfMem { // what keeps and frees locks goes on
				renewal, release = "1", "0"
			}
			b.want(b.eval(scripts.Renew, []string{one}, "me:1", "1"), renewal, "renewal that prolongs nothing")
			b.want(b.eval(scripts.Renew, []string{one}, "me:1", twoHour), renewal, "renew")
			b.want(b.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", channel), release, "release")
			if f := scripts.Fault(ill); !f.Passing() || !f.StopsWrites() {
				t.Error("it stops writes and may pass by itself, and is not said to")
			}
		})
	}
}

// limited is the box as it is for a user with these rights, and no others.
func (b *box) limited(t *testing.T, rights ...string) *box {
	t.Helper()
	b.must(append([]string{"ACL", "SETUSER", "limited", "reset", "on", ">secret"}, rights...)...)
	return &box{t, dial(t, b.redis.Addr(), "limited", "secret"), nil}
}

func TestUserWithoutRights(t *testing.T) {
	noPerm := func(t *testing.T, answer string) {
		t.Helper()
		if f := scripts.Reply(number(t, answer)).Fault(); !strings.HasPrefix(f.String(), "NOPERM") {
			t.Errorf("answered %s: %v, want NOPERM", answer, f)
		}
	}
	b := realBox(t)
	b.run(t, "to keys hears so", func(t *testing.T, b *box) {
		user := b.limited(t, "+@all", "&*", "~other:*")
		// Redis checks declared keys before a script runs.
		for s, args := range map[*scripts.Script][]any{
			&scripts.Acquire: {0, "me:1", hour}, &scripts.Release: {"PUBLISH", "me:1", channel}, &scripts.Renew: {"me:1", hour},
		} {
			if got := user.eval(*s, []string{one}, args...); !strings.HasPrefix(got, "!NOPERM") {
				t.Errorf("%s answered %s, want NOPERM", s.Name, got)
			}
		}
	})
	t.Run("to a command hears so, and nothing half done is left", func(t *testing.T) {
		for _, command := range []string{"hset", "pexpire"} {
			b := b.fresh(t)
			user := b.limited(t, "+@all", "&*", "~*", "-"+command)
			noPerm(t, user.eval(scripts.Acquire, []string{one}, 0, "me:1", hour))
			noPerm(t, user.eval(scripts.AcquireFenced, []string{two, three}, 0, 64, 0, "me:2", hour))
			b.want(b.must("EXISTS", one, two), "0", "without "+command+": EXISTS")
		}
		b := b.fresh(t)
		b.must("HSET", one, "java:1", "1")
		noPerm(t, b.limited(t, "+@all", "&*", "~*", "-pttl").eval(scripts.Acquire, []string{one}, 0, "me:1", hour))
		for _, command := range []string{"hexists", "pexpire"} {
			b := b.fresh(t)
			b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
			user := b.limited(t, "+@all", "&*", "~*", "-"+command)
			noPerm(t, user.eval(scripts.Renew, []string{one}, "me:1", twoHour))
			noPerm(t, user.eval(scripts.Confirm, []string{one, one}, "PUBLISH", "me:1", twoHour, channel))
			b.lasts(one, hour)
		}
		b = b.fresh(t)
		b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
		user := b.limited(t, "+@all", "&*", "~*", "-hdel")
		noPerm(t, user.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", channel))
		b.stands(one, "me:1=1")
	})
	b.run(t, "to look at many names at once looks at each", func(t *testing.T, b *box) {
		b.must("HSET", two, "java:1", "1")
		user := b.limited(t, "+@all", "&*", "~*", "-exists")
		b.want(user.eval(scripts.Acquire, []string{one, two, three}, 0, "me:1", "me:2", "me:3", hour), "[1 -1 1]")
	})
	b.run(t, "to channels frees, and says that nobody was told", func(t *testing.T, b *box) {
		b.eval(scripts.Acquire, []string{one, two}, 0, "me:1", "me:2", hour)
		user := b.limited(t, "+@all", "resetchannels", "~*")
		b.want(user.eval(scripts.Release, []string{one, one}, "PUBLISH", "me:1", channel), "-2", "release")
		b.want(user.eval(scripts.Release, []string{two, two}, "SPUBLISH", "me:2", channel), "-2", "release")
		b.want(b.must("EXISTS", one, two), "0", "EXISTS")
	})
	b.run(t, "to ask who listens counts nobody", func(t *testing.T, b *box) {
		b.listen(channel)
		b.eval(scripts.Acquire, []string{one}, 0, "me:1", hour)
		user := b.limited(t, "+@all", "&*", "~*", "-pubsub")
		for _, how := range []string{"PUBLISH", "SPUBLISH", "BOTH"} {
			b.want(user.eval(scripts.Confirm, []string{one, one}, how, "me:1", hour, channel), "0", "confirm by ", how)
		}
	})
}

// A script is called by its digest; who has not loaded it hears so, and nothing has happened.
func TestScriptsAreCalledByDigest(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		digest := b.must("SCRIPT", "LOAD", scripts.Acquire.Text)
		call := func() string { return b.do("EVALSHA", digest, "1", one, "0", "me:1", "3600000") }
		b.want(call(), "1")
		b.must("FLUSHALL")
		b.must("SCRIPT", "FLUSH")
		if got := call(); !strings.HasPrefix(got, "!NOSCRIPT") {
			t.Errorf("answered %s, want NOSCRIPT", got)
		}
		b.want(b.must("EXISTS", one), "0", "EXISTS")
		b.want(b.must("SCRIPT", "LOAD", scripts.Acquire.Text), digest, "SCRIPT LOAD")
	})
}
