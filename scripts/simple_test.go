package scripts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Owners as simple locks have them.
const (
	annOwner, bobOwner, cidOwner = ann + ":1:r4nd0m", bob + ":2:0th3r", cid + ":3:th1rd"
	oldOwner                     = old + ":1:r4nd0m" // of a UUID that no engine has
)

// simpleValues are what others put into their locks.
var simpleValues = map[string]string{
	"a word": "token", "nothing": "", "any bytes": "\x00\xff\r\n 1 ", "a number": "7", "hex": "0123456789abcdef-", "an owner of ours, almost": oldOwner,
	"an owner of ours, with a space": annOwner + " 1", "1 MB": strings.Repeat("0123456789abcdef", 1<<16),
}

func acquireSimple(b *box, owner string, lease time.Duration) string {
	return b.eval(scripts.AcquireSimple, names, 0, owner, lease)
}

// invariant: hold-within-tenure
func TestAcquireSimple(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "takes a free name as SET NX PX does", func(t *testing.T, b *box) {
			b.want(acquireSimple(b, annOwner, hour), "1")
			b.want(b.must("SET", two, annOwner, "NX", "PX", "3600000"), "OK", "SET")
			for _, name := range []string{one, two} {
				b.want(b.must("TYPE", name), "string", "TYPE")
				b.want(b.must("GET", name), annOwner, "GET")
				b.lasts(name, hour)
			}
			b.want(b.do("SET", one, "token", "NX", "PX", "3600000"), "nil", "SET by another")
		})
		b.run(t, "asked again raises the TTL, and never lowers it", func(t *testing.T, b *box) {
			for _, lease := range []time.Duration{hour, twoHour, hour} {
				b.want(acquireSimple(b, annOwner, lease), "1")
			}
			b.want(b.must("GET", one), annOwner, "GET")
			b.lasts(one, twoHour)
		})
		b.run(t, "of what an engine has tells what its lease has left", func(t *testing.T, b *box) {
			acquireSimple(b, bobOwner, hour)
			reply := scripts.Reply(number(t, acquireSimple(b, annOwner, twoHour)))
			if ttl, held := reply.Held(); !held || ttl > hour || ttl < hour-time.Minute || reply.Place() != (scripts.Place{}) {
				t.Errorf("held %t for %v, %+v; want an hour", held, ttl, reply.Place())
			}
			b.want(b.must("GET", one), bobOwner, "GET")
		})
		for what, value := range simpleValues {
			b.run(t, "of what another has leaves it as it is, and says so: "+what, func(t *testing.T, b *box) {
				b.must("SET", one, value)
				b.want(acquireSimple(b, annOwner, hour), fmt.Sprint(int64(3*(-1<<43)-1)), "acquire_simple of what has no TTL")
				b.must("SET", one, value, "PX", "1800000")
				reply := scripts.Reply(number(t, acquireSimple(b, annOwner, hour)))
				if ttl, held := reply.Held(); !held || ttl > half || ttl < half-time.Minute || !reply.Place().Listens {
					t.Errorf("held %t for %v, %+v; want half an hour", held, ttl, reply.Place())
				}
				b.want(fmt.Sprintf("%q", b.must("GET", one)), fmt.Sprintf("%q", value), "GET")
				b.lasts(one, half)
			})
		}
		b.run(t, "of a string that is too long for a lock leaves it alone, and says that it is none", func(t *testing.T, b *box) {
			b.must("SET", one, strings.Repeat("x", 1<<20)) // the longest that InspectSimple shows
			b.want(acquireSimple(b, annOwner, hour), fmt.Sprint(int64(3*(-1<<43)-1)), "of 1 MB")
			b.must("SET", one, strings.Repeat("x", 1<<20+1))
			b.want(acquireSimple(b, annOwner, hour), fault(17))
			b.want(b.eval(scripts.AcquireSimpleInLine, lineNames[:2], 0, "PUBLISH", annOwner, hour, 77, channel), fault(17), "in line")
			b.want(b.must("EXISTS", lineNames[1]), "0", "EXISTS of the line")
		})
		b.run(t, "before its notAfter takes, after it does nothing and tells the server's time", func(t *testing.T, b *box) {
			now := b.serverMillis()
			b.want(b.eval(scripts.AcquireSimple, names, now+60_000, annOwner, hour), "1")
			for _, answer := range []string{
				b.eval(scripts.AcquireSimple, names, now-1, annOwner, twoHour), b.eval(scripts.AcquireSimple, []string{two}, now-1, annOwner, hour),
				b.eval(scripts.AcquireSimpleInLine, lineNames[:2], now-1, "PUBLISH", bobOwner, hour, 77, channel),
				b.eval(scripts.AdoptSimple, names, now-1, annOwner, bobOwner, twoHour),
			} {
				if millis, late := scripts.Reply(number(t, answer)).Late(); !late || millis < now || millis > b.serverMillis() {
					t.Errorf("answered %s: late %t at %d, want between %d and now", answer, late, millis, now)
				}
			}
			b.want(b.must("GET", one), annOwner, "GET")
			b.lasts(one, hour)
			b.want(b.must("EXISTS", two, lineNames[1]), "0", "EXISTS")
		})
		b.run(t, "takes many names in one call, and answers each when they fared differently", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.AcquireSimple, []string{one, two}, 0, annOwner, hour, bobOwner, twoHour), "1")
			b.lasts(one, hour)
			b.lasts(two, twoHour)
			b.must("HSET", three, "me:1", "1")
			b.want(b.eval(scripts.AcquireSimple, []string{one, three, "stock:10"}, 0, annOwner, hour, annOwner, hour, annOwner, hour), "[1 "+fault(21)+" 1]")
		})
		b.run(t, "with a lease that is none takes nothing", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.AcquireSimple, names, 0, annOwner, "soon"), fault(scripts.Other))
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
	})
}

// What belongs to another is left alone by whatever is done in the name of ours.
func TestSimpleLocksOfOthersStay(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		create := map[string][]string{"free": {"PING"}, "an engine's": {"SET", one, bobOwner}}
		for what, value := range simpleValues {
			create[what] = []string{"SET", one, value}
		}
		for what, command := range others {
			if what != "string" {
				create["a "+what] = command
			}
		}
		for what, command := range create {
			b.run(t, what, func(t *testing.T, b *box) {
				b.must(command...)
				b.must("PEXPIRE", one, "1800000")
				kind, before := b.must("TYPE", one), ""
				if kind != "none" {
					before = b.dumpOf(kind)
				}
				for script, args := range map[*scripts.Script][]any{
					&scripts.RenewSimple: {annOwner, hour}, &scripts.ConfirmSimple: {annOwner, hour}, &scripts.DetachSimple: {"PUBLISH", annOwner, annOwner + ":detached", hour, channel},
					&scripts.ReleaseSimple: {"PUBLISH", annOwner, channel, 100}, &scripts.ReleaseSimpleFromLine: {"PUBLISH", annOwner, channel, 100, 77},
				} {
					keys := lineNames[:2]
					if script == &scripts.RenewSimple {
						keys = names
					}
					b.want(b.eval(*script, keys, args...), "-1", script.Name)
				}
				adopted := "-1"
				if foreign, is := others[strings.TrimPrefix(what, "a ")]; is {
					class := map[string]scripts.Fault{"RPUSH": 18, "SADD": 19, "ZADD": 20, "HSET": 21, "XADD": 22}[foreign[0]]
					adopted = fault(class)
					b.want(acquireSimple(b, annOwner, hour), adopted, "acquire_simple")
					b.want(b.eval(scripts.AcquireSimpleInLine, lineNames[:2], 0, "PUBLISH", annOwner, hour, 77, channel), adopted, "acquire_simple_in_line")
					b.want(b.eval(scripts.InspectSimple, names), "["+adopted+" 0 0]", "inspect_simple")
				}
				b.want(b.eval(scripts.AdoptSimple, names, 0, annOwner, cidOwner, hour), adopted, "adopt_simple")
				b.want(b.must("TYPE", one), kind, "TYPE")
				b.want(b.must("EXISTS", lineNames[1]), "0", "EXISTS of the line")
				if kind != "none" {
					b.want(b.dumpOf(kind), before, "the value")
					b.lasts(one, half)
				}
			})
		}
	})
}

// dumpOf is what stands under the name, which is of that type.
func (b *box) dumpOf(kind string) string {
	b.Helper()
	if kind == "stream" {
		return b.must("XLEN", one)
	}
	return text(b.pipe([][]string{readers[kind](one)})[0])
}

func TestSimple(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "a renewal raises the TTL of its owner, never lowers it, and gives one to what has none", func(t *testing.T, b *box) {
			b.must("SET", one, annOwner)
			for _, lease := range []time.Duration{hour, twoHour, time.Millisecond} {
				b.want(b.eval(scripts.RenewSimple, names, annOwner, lease), "1")
			}
			b.lasts(one, twoHour)
			b.want(b.eval(scripts.RenewSimple, []string{one, two}, annOwner, annOwner, hour), "[1 -1]", "of two")
		})
		b.run(t, "a confirmation renews, and counts who stands in line", func(t *testing.T, b *box) {
			simply(annOwner)(b)
			b.want(b.eval(scripts.ConfirmSimple, lineNames[:2], annOwner, hour), "0")
			b.lasts(one, hour)
			b.must("ZADD", lineNames[1], "1", bobOwner+" 77", "2", cidOwner+" 77", "9", "since")
			b.want(b.eval(scripts.ConfirmSimple, lineNames[:2], annOwner, hour), waiting(0, 2))
			b.want(b.eval(scripts.ConfirmSimple, unfenced, annOwner, hour), "0", "where nobody can stand")
		})
		b.run(t, "a release compares, frees, and says nothing on the channel", func(t *testing.T, b *box) {
			heard := b.listen(channel)
			simply(annOwner)(b)
			b.want(b.eval(scripts.ReleaseSimple, lineNames[:2], "PUBLISH", ann+":1:an0ther", channel, 100), "-1", "with another salt")
			b.want(b.eval(scripts.ReleaseSimple, lineNames[:2], "PUBLISH", annOwner, channel, 100), "0")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
			b.want(b.eval(scripts.ReleaseSimple, lineNames[:2], "PUBLISH", annOwner, channel, 100), "-1", "again")
			b.want(b.said(channel, heard), "", "the channel")
		})
		t.Run("by force frees a stranger by its value", func(t *testing.T) {
			for what, value := range simpleValues {
				b := b.fresh(t)
				b.must("SET", one, value)
				b.want(b.eval(scripts.ReleaseSimple, lineNames[:2], "PUBLISH", value, channel, 0), "0", what)
				b.want(b.must("EXISTS", one), "0", "EXISTS")
			}
		})
		b.run(t, "detached it stays taken for a lease of its own, and as long when that is asked again", func(t *testing.T, b *box) {
			simply(annOwner)(b)
			for _, lease := range []time.Duration{5 * time.Minute, hour} {
				b.want(b.eval(scripts.DetachSimple, lineNames[:2], "PUBLISH", annOwner, annOwner+":detached", lease, channel), "0")
				b.want(b.must("GET", one), annOwner+":detached", "GET")
				b.lasts(one, 5*time.Minute)
			}
			b.want(b.eval(scripts.RenewSimple, names, annOwner, hour), "-1", "renew_simple")
			b.want(b.eval(scripts.ReleaseSimple, unfenced, "PUBLISH", annOwner, channel, 0), "-1", "release_simple")
		})
		b.run(t, "adopted it has a fresh owner and a lease of its own, once", func(t *testing.T, b *box) {
			b.must("SET", one, "token")
			adopt := func(fresh string, lease time.Duration) string {
				return b.eval(scripts.AdoptSimple, names, 0, "token", fresh, lease)
			}
			b.want(adopt(annOwner, hour), "1")
			b.want(adopt(annOwner, twoHour), "1", "again")
			b.want(adopt(annOwner, time.Minute), "1", "for a shorter lease")
			b.want(adopt(bobOwner, hour), "-1", "by another")
			b.want(b.must("GET", one), annOwner, "GET")
			b.lasts(one, twoHour)
		})
		b.run(t, "looked at it is as if it were a hash of one owner", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.InspectSimple, names), "[0 -2 0]", "free")
			b.must("SET", one, "token")
			b.want(b.eval(scripts.InspectSimple, names), "[0 -1 0 token 1]", "without a TTL")
			b.must("PEXPIRE", one, "3600000")
			if got := b.eval(scripts.InspectSimple, names); !strings.HasPrefix(got, "[0 3") || !strings.HasSuffix(got, " 0 token 1]") {
				t.Errorf("answered %s", got)
			}
			b.must("SET", one, strings.Repeat("x", 1<<20))
			b.want(b.eval(scripts.InspectSimple, names)[:10], "[0 -1 0 xx", "of 1 MB")
			b.must("SET", one, strings.Repeat("x", 1<<20+1))
			b.want(b.eval(scripts.InspectSimple, names), "["+fault(17)+" 0 0]", "of more")
		})
		b.run(t, "a look says whether names are free, of whatever type they are", func(t *testing.T, b *box) {
			b.want(b.eval(scripts.Peek, names), "0", "free")
			b.must("SET", one, "")
			b.must("HSET", two, "me:1", "1")
			b.must("PEXPIRE", two, "3600000")
			got := b.eval(scripts.Peek, []string{one, two, three})
			if !strings.HasPrefix(got, "[-1 -3") || !strings.HasSuffix(got, " 0]") {
				t.Errorf("answered %s", got)
			}
		})
	})
}

// standsSimple asks for the lock, in line.
func (b *box) standsSimple(owner string, code int) scripts.Reply {
	b.Helper()
	return scripts.Reply(number(b, b.eval(scripts.AcquireSimpleInLine, lineNames[:2], 0, "PUBLISH", owner, 30_000, code, channel)))
}

func (b *box) freesSimple(owner string, turn time.Duration) string {
	b.Helper()
	return b.eval(scripts.ReleaseSimple, lineNames[:2], "PUBLISH", owner, channel, turn)
}

// invariant: gift-counts-from-its-acquire
func TestSimpleLine(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		inbox := func(engine string) string { return scripts.Inbox(channel, engine) }
		held := func(t *testing.T, value string) *box {
			b := b.fresh(t)
			simply(value)(b)
			return b
		}
		turnBegan := func(b *box, ago int64) { // a release would begin it otherwise
			b.must("ZADD", lineNames[1], fmt.Sprint(1<<52+b.serverMillis()-ago), "since")
		}
		for what, value := range simpleValues {
			t.Run("the first behind another than an engine is to ask by itself: "+what, func(t *testing.T) {
				b := held(t, value)
				b.listen(inbox(bob))
				if got := b.standsSimple(bobOwner, secret).Place(); got != (scripts.Place{Stands: true, New: true, Listens: true}) {
					t.Errorf("the first: %+v", got)
				}
				if got := b.standsSimple(cidOwner, secret).Place(); got != (scripts.Place{Stands: true, New: true}) {
					t.Errorf("the second: %+v", got)
				}
				if got := b.standsSimple(bobOwner, secret).Place(); got != (scripts.Place{Stands: true, Listens: true}) {
					t.Errorf("the first, again: %+v", got)
				}
				if got := b.standsSimple(cidOwner, secret).Place(); got != (scripts.Place{Stands: true}) {
					t.Errorf("the second, again: %+v", got)
				}
			})
		}
		t.Run("a release gives the lock to the first, whom its code tells, and nobody else hears of it", func(t *testing.T) {
			b := held(t, annOwner)
			first, second, all := b.listen(inbox(bob)), b.listen(inbox(cid)), b.listen(channel)
			b.standsSimple(bobOwner, secret)
			b.standsSimple(cidOwner, secret)
			b.want(b.freesSimple(annOwner, time.Minute), given, "the release")
			b.want(b.must("GET", one), bobOwner, "GET")
			b.lasts(one, 10*time.Second)
			b.wantLine(cidOwner + " 77")
			b.want(b.said(inbox(bob), first), proof, "the first")
			b.want(b.said(inbox(cid), second), "", "the second")
			b.want(b.said(channel, all), "", "the channel")
			b.want(b.freesSimple(annOwner, time.Minute), "-1", "the release, again")
			if got := b.standsSimple(bobOwner, secret); got != 1 {
				t.Errorf("asked again it is answered %d", got)
			}
			b.lasts(one, 30*time.Second)
			b.want(b.freesSimple(bobOwner, time.Minute), given, "the next release")
			b.want(b.must("GET", one), cidOwner, "GET")
			b.want(b.freesSimple(cidOwner, time.Minute), "0", "the last")
			b.want(b.must("EXISTS", one, lineNames[1]), "0", "EXISTS")
		})
		t.Run("once in a turn the lock is freed, and the first is to ask after a pause", func(t *testing.T) {
			b := held(t, annOwner)
			heard, all := b.listen(inbox(bob)), b.listen(channel)
			b.standsSimple(bobOwner, secret)
			turnBegan(b, 5000)
			b.want(b.freesSimple(annOwner, 5*time.Second), waiting(0, 1), "the release")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
			b.wantLine(bobOwner + " 77")
			b.want(b.said(inbox(bob), heard), "1", "the inbox")
			b.want(b.said(channel, all), "", "the channel")
			b.want(b.must("SET", one, "token", "NX", "PX", "1800000"), "OK", "SET by another")
		})
		t.Run("while it is left to others no engine in line takes it, and none makes that last longer", func(t *testing.T) {
			b := held(t, annOwner)
			b.listen(inbox(bob))
			b.standsSimple(bobOwner, secret)
			turnBegan(b, 5000)
			b.want(b.freesSimple(annOwner, 5*time.Second), waiting(0, 1), "the release")
			ends := b.must("ZSCORE", lineNames[1], "since")
			for owner, place := range map[string]scripts.Place{cidOwner: {Stands: true, New: true}, bobOwner: {Stands: true}} {
				reply := b.standsSimple(owner, secret)
				if ttl, held := reply.Held(); !held || ttl > 140*time.Millisecond || reply.Place() != place {
					t.Errorf("%s is answered that it is held %t for %v, %+v", owner, held, ttl, reply.Place())
				}
			}
			b.want(acquireSimple(b, annOwner, hour), "1", "who does not ask in line")
			b.want(b.freesSimple(annOwner, time.Minute), waiting(0, 2), "its release")
			b.want(b.must("ZSCORE", lineNames[1], "since"), ends, "the end")
			turnBegan(b, 0)
			if got := b.standsSimple(cidOwner, secret); got != 1 {
				t.Errorf("when that is over: %d", got)
			}
		})
		t.Run("after the clock was put back it is left to nobody", func(t *testing.T) {
			b := held(t, annOwner)
			b.listen(inbox(bob))
			b.standsSimple(bobOwner, secret)
			turnBegan(b, -5000)
			b.want(b.freesSimple(annOwner, time.Minute), waiting(0, 1), "the release")
			turnBegan(b, -5000)
			if got := b.standsSimple(cidOwner, secret); got != 1 {
				t.Errorf("who asks: %d", got)
			}
		})
		t.Run("within a turn it is given, and a turn of 0 ends at once", func(t *testing.T) {
			b := held(t, annOwner)
			b.listen(inbox(bob))
			b.standsSimple(bobOwner, secret)
			turnBegan(b, 5000)
			b.want(b.freesSimple(annOwner, time.Minute), given, "the release")
			b.standsSimple(annOwner, secret)
			b.listen(inbox(ann))
			b.want(b.freesSimple(bobOwner, 0), waiting(0, 1), "the next release")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
		t.Run("who takes the lock, or gives up, has no place any more", func(t *testing.T) {
			b := held(t, annOwner)
			second := b.listen(inbox(cid))
			b.standsSimple(bobOwner, secret)
			b.standsSimple(cidOwner, secret)
			b.want(b.eval(scripts.ReleaseSimpleFromLine, lineNames[:2], "PUBLISH", bobOwner, channel, 100, secret), "-1", "giving up")
			b.wantLine(cidOwner + " 77")
			b.want(b.said(inbox(cid), second), "0", "who is the first now")
			b.must("DEL", one)
			if got := b.standsSimple(cidOwner, secret); got != 1 {
				t.Errorf("answered %d", got)
			}
			b.wantLine()
		})
		t.Run("a lock that is detached is told to the first", func(t *testing.T) {
			b := held(t, annOwner)
			first, second := b.listen(inbox(bob)), b.listen(inbox(cid))
			b.standsSimple(bobOwner, secret)
			b.standsSimple(cidOwner, secret)
			b.want(b.eval(scripts.DetachSimple, lineNames[:2], "PUBLISH", annOwner, annOwner+":detached", hour, channel), "0")
			b.want(b.said(inbox(bob), first), "0", "the first")
			b.want(b.said(inbox(cid), second), "", "the second")
			if got := b.standsSimple(bobOwner, secret).Place(); got.Listens {
				t.Errorf("asked again: %+v, though whoever adopts or frees it is an engine", got)
			}
		})
	})
}

// What is given stands before it is told, and what is not told does not stand.
// invariant: reply-says-what-redis-holds
func TestASimpleLockThatCannotBeGivenIsFreed(t *testing.T) {
	b := realBox(t)
	heard := b.listen(scripts.Inbox(channel, bob))
	for _, code := range []int{secret, woken} {
		for what, of := range map[string]struct{ condition, heard, stand string }{
			"it cannot be taken":       {"name == 'SET'", "0", "0"},
			"it is not told of it":     {"name == 'PUBLISH' and count == 1", "0", "0"},
			"nobody can be told":       {"name == 'PUBLISH'", "", "0"},
			"the place cannot go":      {"name == 'ZREM'", "0", "1"},
			"nobody may say who lives": {"name == 'PUBSUB'", "0", "1"},
		} {
			b := b.fresh(t)
			simply(annOwner)(b)
			b.standsSimple(bobOwner, code)
			refused := wrapped(scripts.ReleaseSimple, "local count = 0", "if name == 'PUBLISH' then count = count + 1 end if "+of.condition+" then return 'NOPERM' end", "")
			what := fmt.Sprint(what, ", code ", code)
			b.want(b.eval(refused, lineNames[:2], "PUBLISH", annOwner, channel, time.Minute), waiting(0, number(t, of.stand)), what, ": the release")
			b.want(b.must("EXISTS", one), "0", what, ": EXISTS")
			b.want(fmt.Sprint(len(b.inLine())), of.stand, what, ": in line")
			b.want(b.said(scripts.Inbox(channel, bob), heard), of.heard, what, ": the inbox")
		}
	}
}

// A place that Redis refuses to take out is not said to be gone.
// invariant: reply-says-what-redis-holds
func TestSimpleLocksTellOfAPlaceThatStays(t *testing.T) {
	b := realBox(t)
	for words, want := range map[string]scripts.Fault{"READONLY": scripts.ReadOnly, "MISCONF": scripts.Misconf, "NOPERM": scripts.NoPerm} {
		b := b.fresh(t)
		lined(simply(annOwner), bobOwner)(b)
		refused := wrapped(scripts.ReleaseSimpleFromLine, "", "if name == 'ZREM' then return '"+words+"' end", "")
		b.want(b.eval(refused, lineNames[:2], "PUBLISH", bobOwner, channel, 100, 77), fault(want), words)
		b.wantLine(bobOwner + " 77")
	}
}

// A place is given up also where its lock is lost, and a lock that nobody waits for is freed: of both there is only one key.
func TestSimpleLocksInAWideCall(t *testing.T) {
	t.Parallel()
	b := clusterBox(t)
	other := "another"
	if scripts.HashSlot(one) == scripts.HashSlot(other) {
		t.Fatal("both names are in one hash slot")
	}
	keys := []string{one, scripts.LineKey(one), other, scripts.LineKey(other)}
	b.must("ZADD", keys[1], "1", annOwner+" 77", "2", bobOwner+" 77")
	b.must("SET", other, annOwner)
	heard := b.listen(scripts.Inbox(channel, bob))
	call := evaluation(scripts.ReleaseSimpleFromLine, keys, []any{"PUBLISH", annOwner, channel, 100, 77, annOwner, scripts.LockChannel(other), 100, 77})
	b.want(b.do(strictly(wide(call))...), "[-1 0]", "the releases")
	b.wantLine(bobOwner + " 77")
	b.want(b.said(scripts.Inbox(channel, bob), heard), "0", "who is the first now")
	b.want(b.do("EXISTS", other), "0", "EXISTS")
	call = evaluation(scripts.AcquireSimple, []string{one, other}, []any{0, annOwner, hour, annOwner, hour})
	b.want(b.do(strictly(wide(call))...), "1", "the acquires")
	call = evaluation(scripts.RenewSimple, []string{one, other}, []any{annOwner, bobOwner, hour})
	b.want(b.do(strictly(wide(call))...), "[1 -1]", "the renewals")
	call = evaluation(scripts.Peek, []string{"free", other}, nil)
	if got := b.do(strictly(wide(call))...); !strings.HasPrefix(got, "[0 -3") {
		t.Errorf("the looks answered %s", got)
	}
}
