package scripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Engines of the tests, which give locks to the line; the code of each place, and what an engine hears whose place with it was given the
// lock; and the code of places to which no message proves anything.
const (
	ann, bob, cid = "aaaaaaaa-0000-8000-8000-00000000000a", "bbbbbbbb-0000-8000-8000-00000000000b", "cccccccc-0000-8000-8000-00000000000c"
	old           = "dddddddd-0000-4000-8000-00000000000d" // of Redisson, or of an earlier version
	secret        = 77
	proof         = "-77"
	woken         = 1
)

var (
	lineNames       = []string{one, scripts.LineKey(one), one}
	fencedLineNames = []string{one, scripts.LineKey(one), counter}
)

// asks asks for the lock, in line.
func (b *box) asks(engine string, number, code int) scripts.Reply {
	b.Helper()
	return b.asksFor(30*time.Second, engine, number, code)
}

func (b *box) asksFor(lease time.Duration, engine string, number, code int) scripts.Reply {
	b.Helper()
	return scripts.Reply(number64(b, b.eval(scripts.AcquireInLine, lineNames, 0, 64, 0, "PUBLISH", fmt.Sprint(engine, ":", number), lease, code)))
}

func number64(b *box, answer string) int64 { return number(b, answer) }

// frees releases the lock.
func (b *box) frees(owner string) string {
	b.Helper()
	return b.eval(scripts.Release, lineNames[:2], "PUBLISH", owner, channel)
}

// leaves gives up a place.
func (b *box) leaves(owner string, code int) string {
	b.Helper()
	return b.eval(scripts.ReleaseFromLine, lineNames[:2], "PUBLISH", owner, channel, code)
}

// line is who stands in line, without SINCE.
func (b *box) inLine() (all []string) {
	for _, place := range b.list("ZRANGE", lineNames[1], "0", "-1") {
		if place != "since" {
			all = append(all, place)
		}
	}
	return all
}

func (b *box) wantLine(places ...string) {
	b.Helper()
	if got := b.inLine(); fmt.Sprint(got) != fmt.Sprint(places) {
		b.Errorf("in line stand %q, want %q", got, places)
	}
}

const given = "1125899906842625" // 2^50 + 1

// waiting is the answer to a call that so many subscribers heard while so many engines stand in line.
func waiting(heard, places int64) string { return fmt.Sprint(heard + places<<32) }

// invariant: gift-counts-from-its-acquire
func TestLine(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		held := func(t *testing.T, owner string) *box {
			b := b.fresh(t)
			standing(owner, "1")(b)
			return b
		}
		place := func(engine string, number int) string { return fmt.Sprintf("%s:%d %d", engine, number, secret) }
		t.Run("a refusal leaves a place at the end", func(t *testing.T) {
			b := held(t, ann+":1")
			for i, engine := range []string{bob, cid} {
				if got := b.asks(engine, 1, secret).Place(); got != (scripts.Place{Stands: true, New: true}) {
					t.Errorf("place %d: %+v", i, got)
				}
			}
			if got := b.asks(bob, 1, secret).Place(); got != (scripts.Place{Stands: true}) {
				t.Errorf("asked again: %+v", got)
			}
			b.wantLine(place(bob, 1), place(cid, 1))
			b.lasts(lineNames[1], time.Minute)
		})
		t.Run("a release gives the lock to the first, and tells nobody else", func(t *testing.T) {
			b := held(t, ann+":1")
			first, second, all := b.listen(scripts.Inbox(scripts.LockChannel(one), bob)), b.listen(scripts.Inbox(scripts.LockChannel(one), cid)), b.listen(channel)
			b.asks(bob, 1, secret)
			b.asks(cid, 1, secret)
			b.want(b.frees(ann+":1"), given, "the release")
			b.stands(one, bob+":1=1")
			b.lasts(one, 10*time.Second)
			b.wantLine(place(cid, 1))
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), first), proof, "the first")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), cid), second), "", "the second")
			b.want(b.said(channel, all), "", "the channel")
			b.want(b.frees(ann+":1"), "-1", "the release, again")
			if got := b.asks(bob, 1, secret); got != 1 {
				t.Errorf("asked again it is answered %d", got)
			}
			b.lasts(one, 30*time.Second)
			b.want(b.frees(bob+":1"), given, "the next release")
			b.stands(one, cid+":1=1")
			b.want(b.frees(cid+":1"), "1", "the last") // the channel
			b.want(b.must("EXISTS", one, lineNames[1]), "0", "EXISTS")
		})
		t.Run("a lock that is lost after it was given leaves the time of its turn, for a minute at most", func(t *testing.T) {
			b := held(t, ann+":1")
			b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
			b.asks(bob, 1, secret)
			b.want(b.frees(ann+":1"), given, "the release")
			b.must("DEL", one)
			b.want(b.frees(bob+":1"), "-1", "the release of the lost lock")
			b.want(fmt.Sprint(b.list("ZRANGE", lineNames[1], "0", "-1")), "[since]", "the line")
			b.lasts(lineNames[1], time.Minute)
		})
		t.Run("dead engines are passed over, and told in case they hear it elsewhere", func(t *testing.T) {
			b := held(t, ann+":1")
			heard := b.listen(scripts.Inbox(scripts.LockChannel(one), cid))
			b.asks(bob, 1, secret)
			b.must("ZADD", lineNames[1], "0", "what is no place")
			b.asks(cid, 1, secret)
			b.want(b.frees(ann+":1"), given, "the release")
			b.stands(one, cid+":1=1")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), cid), heard), proof, "the inbox")
			b.wantLine()
		})
		t.Run("a line whose last place was given the lock ends, also if nobody looks at it again", func(t *testing.T) {
			b := held(t, ann+":1")
			b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
			b.asks(bob, 1, secret)
			b.want(b.frees(ann+":1"), given, "the release")
			b.lasts(lineNames[1], time.Minute)
		})
		t.Run("without anybody alive the lock is freed", func(t *testing.T) {
			b := held(t, ann+":1")
			heard := b.listen(channel)
			b.asks(bob, 1, secret)
			b.want(b.frees(ann+":1"), "1", "the release")
			b.want(b.said(channel, heard), "0", "the channel")
			b.want(b.must("EXISTS", one, lineNames[1]), "0", "EXISTS")
		})
		t.Run("an engine that believes no message is given the lock, too: it is told to ask, and finds that it has it", func(t *testing.T) {
			b := held(t, ann+":1")
			heard, second, all := b.listen(scripts.Inbox(channel, bob)), b.listen(scripts.Inbox(channel, cid)), b.listen(channel)
			b.asksFor(5*time.Second, bob, 1, woken)
			b.asks(cid, 1, secret)
			b.want(b.frees(ann+":1"), given, "the release")
			b.stands(one, bob+":1=1")
			b.lasts(one, 5*time.Second)
			b.want(b.said(scripts.Inbox(channel, bob), heard), "0", "the inbox")
			b.want(b.said(scripts.Inbox(channel, cid), second), "", "the second")
			b.want(b.said(channel, all), "", "the channel")
			b.wantLine(place(cid, 1))
			if got := b.asksFor(7*time.Second, bob, 1, woken); got != 1 {
				t.Errorf("asked again it is answered %d", got)
			}
			b.lasts(one, 7*time.Second)
			b.wantLine(place(cid, 1))
		})
		t.Run("an engine that stands still is given the lock once, and then it is the next one's turn", func(t *testing.T) {
			b := held(t, ann+":1")
			b.listen(scripts.Inbox(channel, bob))
			heard := b.listen(scripts.Inbox(channel, cid))
			b.asks(bob, 1, woken)
			b.asks(cid, 1, secret)
			b.want(b.frees(ann+":1"), given, "the release")
			b.must("DEL", one) // bob has not come
			standing(ann+":2", "1")(b)
			b.want(b.frees(ann+":2"), given, "the next release")
			b.stands(one, cid+":1=1")
			b.want(b.said(scripts.Inbox(channel, cid), heard), proof, "the inbox")
		})
		t.Run("an owner has one place, however often it asks", func(t *testing.T) {
			for _, code := range []int{secret, woken} {
				b := held(t, ann+":1")
				b.asksFor(300*time.Millisecond, bob, 1, code)
				b.asks(bob, 1, code)
				b.asks(bob, 1, code)
				b.wantLine(fmt.Sprint(bob, ":1 ", code))
				b.must("DEL", one)
				b.asks(bob, 1, code)
				b.want(b.must("EXISTS", lineNames[1]), "0", "EXISTS of the line")
				b.stands(one, bob+":1=1")
			}
		})
		t.Run("a place whose lease grows keeps its position, and none comes before it", func(t *testing.T) {
			b := held(t, ann+":1")
			b.asksFor(300*time.Millisecond, bob, 1, secret)
			b.asksFor(10*time.Second, cid, 1, secret)
			if got := b.asksFor(9*time.Second, bob, 1, secret).Place(); got != (scripts.Place{Stands: true}) {
				t.Errorf("asked again: %+v", got)
			}
			b.asksFor(time.Millisecond, cid, 2, secret)
			b.wantLine(place(bob, 1), place(cid, 1), place(cid, 2))
			b.lasts(lineNames[1], time.Minute)
		})
		t.Run("an owner outside has the first listen", func(t *testing.T) {
			for _, owner := range []string{old + ":1", ann + ":1:detached", "java"} {
				b := held(t, owner)
				if got := b.asks(bob, 1, secret).Place(); got != (scripts.Place{Stands: true, New: true, Listens: true}) {
					t.Errorf("the first beside %s: %+v", owner, got)
				}
				b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
				b.asks(cid, 1, secret)
				if got := b.asks(cid, 1, secret).Place(); got != (scripts.Place{Stands: true}) {
					t.Errorf("the second beside %s: %+v", owner, got)
				}
				if got := b.asks(bob, 1, secret).Place(); got != (scripts.Place{Stands: true, Listens: true}) {
					t.Errorf("the first, again, beside %s: %+v", owner, got)
				}
			}
		})
		t.Run("one of several owners is none of ours, or one may be", func(t *testing.T) {
			for ours, listens := range map[int]bool{1: false, 17: false, 18: true} { // so many are looked at
				b := held(t, ann+":1")
				for n := 2; n <= ours; n++ {
					b.must("HSET", one, ann+":"+strconv.Itoa(n), "1")
				}
				if got := b.asks(bob, 1, secret).Place(); got.Listens != listens {
					t.Errorf("beside %d of ours: %+v", ours, got)
				}
				b.must("HSET", one, old+":1", "1")
				if got := b.asks(bob, 1, secret).Place(); !got.Listens {
					t.Errorf("beside %d of ours and one that is not: %+v", ours, got)
				}
			}
		})
		t.Run("who asks again takes the dead before it out when the owner is outside", func(t *testing.T) {
			b := held(t, old+":1")
			b.asks(bob, 1, secret)
			b.asks(cid, 1, secret)
			b.asks(cid, 2, secret)
			if got := b.asks(cid, 2, secret).Place(); got != (scripts.Place{Stands: true, Listens: true}) {
				t.Errorf("%+v", got)
			}
			b.wantLine(place(cid, 2))
		})
		t.Run("and leaves them otherwise", func(t *testing.T) {
			b := held(t, ann+":1")
			b.asks(bob, 1, secret)
			b.asks(cid, 1, secret)
			b.asks(cid, 1, secret)
			b.wantLine(place(bob, 1), place(cid, 1))
		})
		t.Run("who leaves is out, and the next is told if it is the first now", func(t *testing.T) {
			b := held(t, ann+":1")
			heard := b.listen(scripts.Inbox(scripts.LockChannel(one), cid))
			b.asks(bob, 1, secret)
			b.asks(cid, 1, secret)
			b.asks(ann, 9, secret)
			b.want(b.leaves(ann+":9", secret), "-1", "the last")
			b.want(b.leaves(bob+":1", secret), "-1", "the first")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), cid), heard), "0", "the inbox")
			b.wantLine(place(cid, 1))
			b.stands(one, ann+":1=1")
		})
		t.Run("who leaves with the lock passes it on", func(t *testing.T) {
			b := held(t, bob+":1")
			heard := b.listen(scripts.Inbox(scripts.LockChannel(one), cid))
			b.must("ZADD", lineNames[1], "1", place(bob, 1))
			b.asks(cid, 1, secret)
			b.want(b.leaves(bob+":1", secret), given)
			b.stands(one, cid+":1=1")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), cid), heard), "0 "+proof, "the inbox")
		})
		t.Run("an owner gets back from nobody what it has left", func(t *testing.T) {
			b := held(t, bob+":1")
			heard := b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
			b.must("ZADD", lineNames[1], "1", place(bob, 1))
			b.want(b.frees(bob+":1"), "0")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), "", "the inbox")
			b.want(b.must("EXISTS", one, lineNames[1]), "0", "EXISTS")
		})
		t.Run("what somebody else has, too, is given to nobody", func(t *testing.T) {
			b := held(t, ann+":1")
			b.must("HSET", one, "java:1", "1")
			b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
			b.asks(bob, 1, secret)
			b.want(b.frees(ann+":1"), waiting(0, 1))
			b.stands(one, "java:1=1")
		})
		t.Run("without a line nobody stands", func(t *testing.T) {
			b := held(t, ann+":1")
			apart := []string{one, one, one}
			reply := scripts.Reply(number(t, b.eval(scripts.AcquireInLine, apart, 0, 64, 0, "PUBLISH", bob+":1", 30_000, secret)))
			if _, taken := reply.Held(); !taken || reply.Place().Stands {
				t.Errorf("answered %d", reply)
			}
			heard := b.listen(channel)
			b.want(b.eval(scripts.Release, apart[:2], "PUBLISH", ann+":1", channel), "1")
			b.want(b.said(channel, heard), "0", "the channel")
			b.want(b.eval(scripts.AcquireInLine, apart, 0, 64, 0, "PUBLISH", bob+":1", 30_000, secret), "1")
			b.want(b.eval(scripts.ReleaseFromLine, apart[:2], "PUBLISH", bob+":1", channel, secret), "1")
		})
		t.Run("a key of another type has no places", func(t *testing.T) {
			b := held(t, ann+":1")
			b.must("SET", lineNames[1], "x")
			if got := b.asks(bob, 1, secret); got.Place().Stands {
				t.Errorf("answered %d", got)
			}
			b.want(b.frees(ann+":1"), "0")
			b.want(b.must("GET", lineNames[1]), "x", "the key")
		})
		t.Run("places are counted, beside subscribers", func(t *testing.T) {
			b := held(t, ann+":1")
			b.listen(channel)
			count := func(places int64) {
				t.Helper()
				b.want(b.eval(scripts.Confirm, lineNames[:2], "PUBLISH", ann+":1", hour, channel), waiting(1, places), "confirm")
				b.want(b.eval(scripts.CountWaiters, lineNames[:2], "PUBLISH", channel), waiting(1, places), "count_waiters")
			}
			count(0)
			b.asks(bob, 1, secret)
			b.asks(cid, 1, secret)
			count(2)
			b.must("ZADD", lineNames[1], "9000000000000000", "since")
			count(2)
		})
		t.Run("who detaches a name tells the first", func(t *testing.T) {
			b := held(t, ann+":1")
			heard, all := b.listen(scripts.Inbox(scripts.LockChannel(one), bob)), b.listen(channel)
			b.asks(bob, 1, secret)
			b.want(b.eval(scripts.Detach, lineNames[:2], "PUBLISH", ann+":1", ann+":1:detached", 5000, channel), "1")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), "0", "the inbox")
			b.want(b.said(channel, all), "0", "the channel")
			b.wantLine(place(bob, 1))
		})
		b.run(t, "many names", func(t *testing.T, b *box) {
			keys := []string{one, scripts.LineKey(one), two, scripts.LineKey(two), three, scripts.LineKey(three)}
			for i, name := range []string{one, two, three} {
				b.must("HSET", name, fmt.Sprint(ann, ":", i), "1")
			}
			args := func(number int) []any {
				args := []any{"PUBLISH"}
				for _, name := range []string{one, two, three} {
					args = append(args, fmt.Sprint(ann, ":", number), scripts.LockChannel(name))
					number++
				}
				return args
			}
			b.listen(scripts.Inbox(scripts.LockChannel(two), bob))
			b.must("ZADD", scripts.LineKey(two), "1", place(bob, 5))
			b.want(b.eval(scripts.Release, keys, args(0)...), "[0 "+given+" 0]")
			b.stands(two, bob+":5=1")
			b.want(b.eval(scripts.Release, keys, args(0)...), "-1", "again")
		})
	})
}

// A fenced mutex is given without tokens: whoever it was given to asks for them.
// invariant: tokens-grow, gift-counts-from-its-acquire
func TestLineOfAFencedMutex(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		acquire := func(owner string) int64 {
			return number(t, b.eval(scripts.AcquireInLine, fencedLineNames, 0, 64, 86400000, "PUBLISH", owner, 30_000, secret))
		}
		heard := b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
		first := acquire(ann + ":1")
		if reply := scripts.Reply(acquire(bob + ":2")); !reply.Place().New {
			t.Fatalf("bob is answered %d, want a place", reply)
		}
		b.want(b.eval(scripts.Release, fencedLineNames[:2], "PUBLISH", ann+":1", channel), given)
		b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), proof, "the inbox")
		b.want(b.must("GET", counter), fmt.Sprint(first), "the counter")
		if token := acquire(bob + ":2"); token < first+64 {
			t.Errorf("the tokens end at %d, want 64 more than %d at least", token, first)
		}
		b.lasts(one, 30*time.Second)
	})
}

// Once in a TURN, or if nobody listens to the lock's channel in a LONG, a release frees the lock for others than engines, and tells the first to
// ask after a pause.
// invariant: gift-counts-from-its-acquire
func TestTurnsOfALine(t *testing.T) {
	b := realBox(t)
	for name, of := range map[string]struct {
		since   int64 // before now; -1: nothing was given
		unheard bool  // nobody listens to the channel
		gives   bool
	}{
		"the first is given":                       {-1, false, true},
		"the last of a turn":                       {99, false, true},
		"none when the turn is over":               {100, false, false},
		"none in a turn of a clock that goes back": {-2, false, false},
		"the last of a long turn":                  {1659, true, true},
		"none when the long turn is over":          {1660, true, false},
	} {
		b.run(t, name, func(t *testing.T, b *box) {
			standing(ann+":1", "1")(b)
			heard := b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
			listeners, freed := 0, func() string { return "" }
			if !of.unheard {
				all := b.listen(channel)
				listeners, freed = 1, func() string { return b.said(channel, all) }
			}
			b.asks(bob, 1, secret)
			b.asks(cid, 1, secret)
			score := int64(1<<52) + frozenNow - of.since
			if of.since != -1 {
				b.must("ZADD", lineNames[1], fmt.Sprint(score), "since")
			} else {
				score = 1<<52 + frozenNow
			}
			reply := b.eval(frozen(scripts.Release), lineNames[:2], "PUBLISH", ann+":1", channel)
			said := b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard) + "/" + freed()
			if of.gives {
				b.want(reply, given)
				b.want(said, proof+"/", "the messages")
				b.want(b.must("ZSCORE", lineNames[1], "since"), fmt.Sprint(score), "since")
				return
			}
			b.want(reply, waiting(int64(listeners), 2))
			b.want(said, "1/"+strings.Repeat("0", listeners), "the messages")
			b.want(b.must("ZCOUNT", lineNames[1], fmt.Sprint(int64(1<<52)), "+inf"), "0", "since")
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
	}
}

// refusedGifts are what a release answers, and what the first in line hears, where Redis refuses it a command.
var refusedGifts = []struct {
	command, answer, how string // of which Redis answers this
	reply, heard         string // heard by an engine that believes a message; of proof another hears a 0
}{
	{"HSET", refusal(scripts.OutOfMem), "PUBLISH", waiting(0, 0), "0"},
	{"PEXPIRE", refusal(scripts.NoReplicas), "PUBLISH", waiting(0, 0), "0"},
	{"ZREM", refusal(scripts.NoPerm), "PUBLISH", waiting(0, 1), "0"},
	{"PUBLISH", refusal(scripts.NoPerm), "PUBLISH", "-2", ""},
	{"PUBSUB", "{ 'inbox', 0 }", "PUBLISH", waiting(0, 0), "0"},
	{"PUBSUB", refusal(scripts.NoPerm), "PUBLISH", waiting(0, 1), "0"},
	{"SPUBLISH", refusal(scripts.NoPerm), "BOTH", given, proof},
	{"ZRANGE", refusal(scripts.NoPerm), "PUBLISH", "0", ""},
	{"ZSCORE", refusal(scripts.NoPerm), "PUBLISH", given, proof},
	{"ZADD", refusal(scripts.OutOfMem), "PUBLISH", given, proof},
	{"ZCARD", refusal(scripts.NoPerm), "PUBLISH", given, proof},
	{"EXISTS", refusal(scripts.Moving), "PUBLISH", waiting(0, 1), "0"},
	{"TIME", refusal(scripts.NoPerm), "PUBLISH", waiting(0, 1), "1"},
}

// heardWith is what an engine hears whose place has that code.
func heardWith(code int, heard string) string {
	if heard == proof && code != secret {
		return "0"
	}
	return heard
}

// Where Redis refuses a command the lock is free or somebody's, and nobody hears a code of a lock that it does not have.
// invariant: reply-says-what-redis-holds, gift-counts-from-its-acquire
func TestWhatCannotBeGivenIsFreed(t *testing.T) {
	b := realBox(t)
	for _, of := range refusedGifts {
		for _, code := range []int{secret, woken} {
			b.run(t, fmt.Sprint("code ", code, ", ", of.how, ", ", of.command, " answers ", of.answer), func(t *testing.T, b *box) {
				standing(ann+":1", "1")(b)
				heard := b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
				b.asks(bob, 1, code)
				refused := answering(scripts.Release, of.command, of.answer)
				b.want(b.eval(refused, lineNames[:2], of.how, ann+":1", channel), of.reply)
				if of.reply == given {
					b.stands(one, bob+":1=1")
				} else {
					b.want(b.must("EXISTS", one), "0", "EXISTS")
				}
				b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), heardWith(code, of.heard), "the inbox")
			})
		}
	}
	b.run(t, "the second is left where it stands when the first cannot be given the lock", func(t *testing.T, b *box) {
		standing(ann+":1", "1")(b)
		b.listen(scripts.Inbox(channel, bob))
		heard := b.listen(scripts.Inbox(channel, cid))
		b.asks(bob, 1, secret)
		b.asks(cid, 1, secret)
		refused := answering(scripts.Release, "HSET", refusal(scripts.NoPerm))
		b.want(b.eval(refused, lineNames[:2], "PUBLISH", ann+":1", channel), waiting(0, 1), "the release")
		b.want(b.said(scripts.Inbox(channel, cid), heard), "", "the second")
		b.wantLine(cid + ":1 77")
	})
	b.run(t, "a dead place that cannot go is looked at once", func(t *testing.T, b *box) {
		standing(ann+":1", "1")(b)
		b.asks(bob, 1, secret)
		refused := wrapped(scripts.Release, "local looks = 0", "if name == 'PUBSUB' then looks = looks + 1 end if name == 'ZREM' then return 'NOPERM' end", "reply = looks")
		b.want(b.eval(refused, lineNames[:2], "PUBLISH", ann+":1", channel), "1", "how often it was looked at")
	})
	b.run(t, "TIME revoked", func(t *testing.T, b *box) {
		standing(ann+":1", "1")(b)
		heard, all := b.listen(scripts.Inbox(scripts.LockChannel(one), bob)), b.listen(channel)
		b.asks(bob, 1, secret)
		user := b.limited(t, "&*", "~*", "+@all", "-time")
		b.want(user.frees(ann+":1"), waiting(1, 1), "the release")
		b.want(b.must("EXISTS", one), "0", "EXISTS")
		b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), "1", "the inbox")
		b.want(b.said(channel, all), "0", "the channel")
	})
	b.run(t, "without PUBSUB the first that hears it is told, and goes to the end", func(t *testing.T, b *box) {
		standing(ann+":1", "1")(b)
		inboxes := []string{scripts.Inbox(channel, cid), scripts.Inbox(channel, ann)}
		heard := []<-chan string{b.listen(inboxes[0]), b.listen(inboxes[1])}
		b.asks(bob, 1, secret) // and is dead
		b.asksFor(5*time.Second, cid, 1, secret)
		b.asks(ann, 2, woken)
		user := b.limited(t, "&*", "~*", "+@all", "-pubsub")
		for n, want := range [][]string{{"0", ""}, {"", "0"}, {"0", ""}} {
			b.must("HSET", one, ann+":1", "1")
			b.want(user.frees(ann+":1"), waiting(0, 2), "release ", n)
			b.want(b.must("EXISTS", one), "0", "EXISTS after release ", n)
			for i, inbox := range inboxes {
				b.want(b.said(inbox, heard[i]), want[i], "release ", n, ": ", inbox)
			}
			b.lasts(lineNames[1], time.Minute)
		}
		b.wantLine(ann+":2 1", cid+":1 77")
		b.must("ZREM", lineNames[1], ann+":2 1")
		standing(ann+":1", "1")(b)
		b.want(b.eval(giving(scripts.Release), lineNames[:2], "PUBLISH", ann+":1", channel), "5000", "a release with PUBSUB")
	})
	b.run(t, "an engine listens by SUBSCRIBE, without NUMSUB", func(t *testing.T, b *box) {
		standing(ann+":1", "1")(b)
		heard := b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
		b.asks(bob, 1, secret)
		user := b.limited(t, "&*", "~*", "+@all", "-pubsub|numsub")
		b.want(user.eval(scripts.Release, lineNames[:2], "BOTH", ann+":1", channel), waiting(0, 1), "the release")
		b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), "0", "the inbox")
		b.wantLine(bob + ":1 77")
	})
	b.run(t, "whoever asks without PUBSUB leaves the places before it", func(t *testing.T, b *box) {
		standing(old+":1", "1")(b)
		b.asks(bob, 1, secret)
		b.asks(cid, 1, secret)
		b.asks(cid, 2, secret)
		user := b.limited(t, "&*", "~*", "+@all", "-pubsub")
		if got := user.asks(cid, 2, secret).Place(); got != (scripts.Place{Stands: true}) {
			t.Errorf("%+v", got)
		}
		b.wantLine(bob+":1 77", cid+":1 77", cid+":2 77")
	})
	for name, of := range map[string]struct {
		plain, sharded bool   // how the engine listens to its inbox
		refused        string // a right of who releases that was revoked
		gives          bool
	}{
		"both ways, without PUBLISH":      {true, true, "-publish", true},
		"both ways, without SPUBLISH":     {true, true, "-spublish", true},
		"by SUBSCRIBE, without SPUBLISH":  {true, false, "-spublish", true},
		"by SSUBSCRIBE, without PUBLISH":  {false, true, "-publish", true},
		"by SUBSCRIBE, without PUBLISH":   {true, false, "-publish", false},
		"by SSUBSCRIBE, without SPUBLISH": {false, true, "-spublish", false},
		"both ways, without either":       {true, true, "-publish -spublish", false},
	} {
		for _, code := range []int{secret, woken} {
			b.run(t, fmt.Sprint("an engine of code ", code, " listens ", name), func(t *testing.T, b *box) {
				standing(ann+":1", "1")(b)
				inbox := scripts.Inbox(scripts.LockChannel(one), bob)
				var heard, sharded <-chan string
				if of.plain {
					heard = b.listen(inbox)
				}
				if of.sharded {
					sharded = b.listenSharded(inbox)
				}
				b.asks(bob, 1, code)
				user := b.limited(t, append([]string{"&*", "~*", "+@all"}, strings.Fields(of.refused)...)...)
				reply := user.eval(scripts.Release, lineNames[:2], "BOTH", ann+":1", channel)
				said := ""
				if of.plain {
					said = b.said(inbox, heard)
				}
				if of.sharded {
					b.must("SPUBLISH", inbox, "the end")
					for message := range sharded {
						if message == "the end" {
							break
						}
						said += message
					}
				}
				if of.gives {
					b.want(reply, given, "the release")
					b.stands(one, bob+":1=1")
					if message := heardWith(code, proof); !strings.Contains(said, message) {
						t.Errorf("it heard %q, want %s", said, message)
					}
					return
				}
				b.want(reply, "-2", "the release")
				b.stands(one)
				b.want(said, "", "the inbox")
			})
		}
	}
	for command, refusedPlace := range map[string]bool{"ZSCORE": true, "ZADD": true, "PEXPIRE": true, "ZRANGE": false, "HLEN": false, "HGETALL": false} {
		b.run(t, "a place while "+command+" is refused", func(t *testing.T, b *box) {
			standing(ann+":1", "1")(b)
			ask := answering(scripts.AcquireInLine, command, refusal(scripts.NoPerm))
			reply := scripts.Reply(number(t, b.eval(ask, lineNames, 0, 64, 0, "PUBLISH", bob+":1", 30_000, secret)))
			if _, taken := reply.Held(); !taken || reply.Place().Stands == refusedPlace {
				t.Errorf("answered %d: %+v", reply, reply.Place())
			}
			if got := len(b.inLine()); (got == 0) != refusedPlace {
				t.Errorf("%d stand in line", got)
			}
		})
	}
}

// A longer lease that Redis does not note is none: the place is given for the one before, and its engine is told that it does not stand.
// invariant: reply-says-what-redis-holds
func TestAPlaceWhoseLeaseCannotGrowIsGivenForTheOneBefore(t *testing.T) {
	b := realBox(t)
	standing(ann+":1", "1")(b)
	b.listen(scripts.Inbox(channel, bob))
	b.asksFor(5*time.Second, bob, 1, secret)
	ask := func(lease time.Duration) scripts.Place {
		refused := answering(scripts.AcquireInLine, "ZADD", refusal(scripts.OutOfMem))
		return scripts.Reply(number(t, b.eval(refused, lineNames, 0, 64, 0, "PUBLISH", bob+":1", lease, secret))).Place()
	}
	if got := ask(6 * time.Second); got.Stands {
		t.Errorf("with a longer lease: %+v", got)
	}
	if got := ask(5 * time.Second); got != (scripts.Place{Stands: true}) {
		t.Errorf("with the same: %+v", got)
	}
	b.wantLine(bob + ":1 77")
	b.want(b.eval(giving(scripts.Release), lineNames[:2], "PUBLISH", ann+":1", channel), "5000", "the release")
}

// An engine that lives is told, or given the lock, also behind many dead ones. What one call removes is bounded (DEAD): behind more the
// engines ask after PollCap, and the next call goes on where this one has stopped.
// invariant: gift-counts-from-its-acquire
func TestManyDeadStandInLine(t *testing.T) {
	b := realBox(t)
	behind := func(t *testing.T, dead int) (*box, <-chan string) {
		b := b.fresh(t)
		standing(ann+":1", "1")(b)
		places := []string{"ZADD", lineNames[1]}
		for i := range dead {
			places = append(places, fmt.Sprint(i), fmt.Sprintf("eeeeeeee-0000-8000-8000-%012x:1 77", i))
		}
		b.must(places...)
		heard := b.listen(scripts.Inbox(scripts.LockChannel(one), bob))
		b.asks(bob, 1, secret)
		return b, heard
	}
	for _, dead := range []int{99, 100, 101, 250, 999} {
		t.Run(fmt.Sprint("a release behind ", dead), func(t *testing.T) {
			b, heard := behind(t, dead)
			b.want(b.frees(ann+":1"), given, "the release")
			b.stands(one, bob+":1=1")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), proof, "the inbox")
		})
		t.Run(fmt.Sprint("a release at the end of a turn behind ", dead), func(t *testing.T) {
			b, heard := behind(t, dead)
			b.must("ZADD", lineNames[1], fmt.Sprint(int64(1<<52)), "since")
			b.want(b.frees(ann+":1"), waiting(0, 1), "the release")
			b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), "1", "the inbox")
			b.wantLine(bob + ":1 77")
		})
		t.Run(fmt.Sprint("a question beside an owner outside behind ", dead), func(t *testing.T) {
			b, _ := behind(t, dead)
			b.must("DEL", one)
			standing(old+":1", "1")(b)
			if got := b.asks(bob, 1, secret).Place(); !got.Listens {
				t.Errorf("%+v", got)
			}
			b.wantLine(bob + ":1 77")
		})
	}
	t.Run("the next call goes on behind more than one removes", func(t *testing.T) {
		b, heard := behind(t, 1500)
		all := b.listen(channel)
		b.want(b.frees(ann+":1"), waiting(1, 501), "the release")
		b.want(b.must("EXISTS", one), "0", "EXISTS")
		b.want(b.said(channel, all), "0", "the channel")
		standing(ann+":2", "1")(b)
		b.want(b.frees(ann+":2"), given, "the next release")
		b.want(b.said(scripts.Inbox(scripts.LockChannel(one), bob), heard), proof, "the inbox")
	})
}

// Names that share a channel share no line: what is given to one would be taken for the other.
func TestLinesOfAliasesAreApart(t *testing.T) {
	if a, b := scripts.LineKey("a"), scripts.LineKey("{a}"); a == b {
		t.Errorf("both have %s", a)
	}
}
