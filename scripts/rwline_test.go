package scripts_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// One more engine of the tests, and the channel and the line of the lock.
const dan = "dddddddd-0000-8000-8000-00000000000d"

var (
	rwChannel = scripts.RWChannel(one)
	rwLine    = scripts.LineKey(one)
)

// writer and reader are the places of an engine.
func writer(engine string, number int) string {
	return fmt.Sprintf("%s:%d:write %d", engine, number, secret)
}
func reader(engine string, number int) string { return fmt.Sprintf("%s:%d 0", engine, number) }

// written is a lock that an owner writes.
func (b *box) written(t *testing.T, owner string) *box {
	t.Helper()
	b = b.fresh(t)
	standing("mode", "write", owner+":write", "1")(b)
	return b
}

// isRead is a lock that owners read.
func (b *box) isRead(t *testing.T, owners ...string) *box {
	t.Helper()
	b = b.fresh(t)
	fields := []string{"mode", "read"}
	for _, owner := range owners {
		fields = append(fields, owner, "1")
	}
	reading(standing(fields...), owners...)(b)
	return b
}

// stand makes a line of these places.
func (b *box) stand(places ...string) {
	b.Helper()
	for i, place := range places {
		b.must("ZADD", rwLine, fmt.Sprint(i+1), place)
	}
	b.must("PEXPIRE", rwLine, "60000")
}

// writes asks for the lock to write, in line.
func (b *box) writes(engine string, number, code int) scripts.Reply {
	b.Helper()
	owner := fmt.Sprint(engine, ":", number, ":write")
	return scripts.Reply(number64(b, b.eval(scripts.AcquireWriteInLine, []string{one, rwLine}, 0, "PUBLISH", owner, 30_000, code)))
}

// inRound is a script that runs so many ms after a round of makesWay has begun: from 140 on readers make way for nobody.
func inRound(s scripts.Script, millis int) scripts.Script {
	return scripts.Script{Name: s.Name, Text: strings.Replace(s.Text, "now % ROUND", strconv.Itoa(millis), 1)}
}

// reads asks for the lock to read, in line, unless writers are before it.
func (b *box) reads(engine string, number int) scripts.Reply {
	b.Helper()
	return b.readsWith(scripts.AcquireRead, "PUBLISH", rwLine, fmt.Sprint(engine, ":", number), woken)
}

// readsWith asks for it with that line and code.
func (b *box) readsWith(script scripts.Script, how, line, owner string, code any) scripts.Reply {
	b.Helper()
	return scripts.Reply(number64(b, b.eval(inRound(script, 140), []string{one, line, scripts.HoldKey(one, owner)}, 0, how, owner, 30_000, code)))
}

// endsRead releases a reader; the code is that of a place to give up, or empty.
func (b *box) endsRead(owner string, code any) string {
	b.Helper()
	if code == "" {
		return b.eval(scripts.ReleaseRead, []string{one, rwLine, scripts.HoldKey(one, owner)}, "PUBLISH", 0, owner, rwChannel)
	}
	return b.eval(scripts.ReleaseReadFromLine, []string{one, rwLine, scripts.HoldKey(one, owner)}, "PUBLISH", 0, owner, rwChannel, code)
}

// endsWrite releases a writer, likewise.
func (b *box) endsWrite(owner string, code any) string {
	b.Helper()
	if code == "" {
		return b.eval(scripts.ReleaseWrite, []string{one, rwLine}, "PUBLISH", owner+":write", rwChannel)
	}
	return b.eval(scripts.ReleaseWriteFromLine, []string{one, rwLine}, "PUBLISH", owner+":write", rwChannel, code)
}

// hears listens to a channel, and compares what was said there since the last look.
func (b *box) hears(channel string) func(want string) {
	b.Helper()
	heard := b.listen(channel)
	return func(want string) {
		b.Helper()
		b.want(b.said(channel, heard), want, channel)
	}
}

// inbox does that with the inbox of an engine, which is alive from now on.
func (b *box) inbox(engine string) func(want string) {
	b.Helper()
	return b.hears(scripts.Inbox(rwChannel, engine))
}

// gaveTo checks that a writer was given the lock, and that nothing else stands but the line.
func (b *box) gaveTo(reply, owner string) {
	b.Helper()
	b.want(reply, given, "the release")
	b.stands(one, owner+":write=1", "mode=write")
	b.endsWithin(one, 10*time.Second)
	keys := b.list("KEYS", "*")
	slices.Sort(keys)
	b.want(strings.TrimSuffix(strings.Join(keys, " "), " "+rwLine), one, "KEYS")
}

// endsWithin checks that a key ends, and how soon.
func (b *box) endsWithin(key string, longest time.Duration) {
	b.Helper()
	if ttl := number64(b, b.must("PTTL", key)); ttl <= 0 || ttl > longest.Milliseconds() {
		b.Errorf("%s has %d ms left, want %v or a little less", key, ttl, longest)
	}
}

// refused checks that an acquire was refused, and what it says of its place.
func (b *box) refused(got scripts.Reply, want scripts.Place) {
	b.Helper()
	if _, taken := got.Held(); !taken || got.Place() != want {
		b.Errorf("it is answered %d: %+v, want %+v", got, got.Place(), want)
	}
}

// granted checks that it was not.
func (b *box) granted(got scripts.Reply) {
	b.Helper()
	b.want(fmt.Sprint(got), "1", "the acquire")
}

var (
	newPlace = scripts.Place{Stands: true, New: true}
	oldPlace = scripts.Place{Stands: true}
	noPlace  = scripts.Place{}
)

func TestPlacesOfReadersAndWriters(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		t.Run("who is refused gets a place, and keeps it", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.refused(b.writes(bob, 1, secret), newPlace)
			b.refused(b.reads(cid, 1), newPlace)
			b.refused(b.writes(bob, 1, secret), oldPlace)
			b.refused(b.reads(cid, 1), oldPlace)
			b.wantLine(writer(bob, 1), reader(cid, 1))
			b.endsWithin(rwLine, time.Minute)
			b.stands(one, ann+":1:write=1", "mode=write")
			b.want(b.must("EXISTS", scripts.HoldKey(one, cid+":1")), "0", "EXISTS of the hold")
		})
		t.Run("who writes waits for those who read", func(t *testing.T) {
			b := b.isRead(t, ann+":1", bob+":1")
			b.refused(b.writes(bob, 2, secret), newPlace)
			b.wantLine(writer(bob, 2))
		})
		t.Run("an owner has one place, and that of a reader no code, whatever it asks with", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.refused(b.writes(bob, 1, woken), newPlace)
			b.refused(b.writes(bob, 1, woken), oldPlace)
			for _, code := range []int{woken, secret, woken} {
				b.readsWith(scripts.AcquireRead, "PUBLISH", rwLine, cid+":1", code)
			}
			b.wantLine(bob+":1:write 1", reader(cid, 1))
		})
		t.Run("who has no code gets none", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.refused(b.readsWith(scripts.AcquireRead, "PUBLISH", rwLine, bob+":1", ""), noPlace)
			reply := b.eval(scripts.AcquireWrite, []string{one}, 0, bob+":1:write", 30_000)
			b.refused(scripts.Reply(number64(b, reply)), noPlace)
			b.wantLine()
		})
		t.Run("the first listens beside an owner outside", func(t *testing.T) {
			for owner, is := range map[string]string{old + ":1:write": "write", "java:write": "write", ann + ":1:detached": "write", old + ":1": "read", "java": "read"} {
				b := b.fresh(t)
				standing("mode", is, ann+":1", "1", owner, "1")(b)
				b.inbox(bob)
				b.refused(b.writes(bob, 1, secret), scripts.Place{Stands: true, New: true, Listens: true})
				b.refused(b.writes(cid, 1, secret), newPlace)
				b.refused(b.writes(cid, 1, secret), oldPlace)
				b.refused(b.writes(bob, 1, secret), scripts.Place{Stands: true, Listens: true})
			}
		})
		t.Run("a reader that is the first listens, too", func(t *testing.T) {
			b := b.written(t, old+":1")
			b.refused(b.reads(bob, 1), scripts.Place{Stands: true, New: true, Listens: true})
			b.refused(b.reads(bob, 1), scripts.Place{Stands: true, Listens: true})
		})
		t.Run("nobody listens beside owners of ours, of whom 16 are looked at beside the mode", func(t *testing.T) {
			for ours, listens := range map[int]bool{1: false, 16: false, 17: true} {
				var owners []string
				for n := range ours {
					owners = append(owners, fmt.Sprint(ann, ":", n))
				}
				b := b.isRead(t, owners...)
				b.refused(b.writes(bob, 1, secret), scripts.Place{Stands: true, New: true, Listens: listens})
			}
			b := b.written(t, ann+":1")
			b.must("HSET", one, ann+":1", "1") // and reads
			b.refused(b.writes(bob, 1, secret), newPlace)
		})
		t.Run("who asks again takes the dead before it out when the owner is outside", func(t *testing.T) {
			b := b.written(t, old+":1")
			b.writes(bob, 1, secret)
			b.reads(bob, 2)
			b.reads(cid, 1)
			b.refused(b.reads(cid, 1), scripts.Place{Stands: true, Listens: true})
			b.wantLine(reader(cid, 1))
		})
		t.Run("and leaves them otherwise", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.writes(bob, 1, secret)
			b.reads(cid, 1)
			b.refused(b.reads(cid, 1), oldPlace)
			b.wantLine(writer(bob, 1), reader(cid, 1))
		})
		t.Run("who is granted has none", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.writes(bob, 1, secret)
			b.reads(cid, 1)
			b.must("DEL", one)
			b.granted(b.writes(bob, 1, secret))
			b.stands(one, bob+":1:write=1", "mode=write")
			b.wantLine(reader(cid, 1))
			b.must("DEL", one)
			b.granted(b.reads(cid, 1))
			b.stands(one, cid+":1=1", "mode=read")
			b.lasts(one, 30*time.Second)
			b.want(b.must("EXISTS", rwLine), "0", "EXISTS of the line")
		})
		t.Run("nor has who is granted again", func(t *testing.T) { // it stood while it was granted without its line
			b := b.written(t, ann+":1")
			says := b.inbox(dan)
			b.reads(bob, 1)
			b.reads(dan, 1)
			b.must("DEL", one)
			b.granted(b.readsWith(scripts.AcquireRead, "PUBLISH", one, bob+":1", woken))
			b.wantLine(reader(bob, 1), reader(dan, 1))
			b.granted(b.reads(bob, 1))
			b.wantLine(reader(dan, 1))
			says("0")
		})
		t.Run("a key of another type has none", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.must("SET", rwLine, "x")
			b.refused(b.writes(bob, 1, secret), noPlace)
			b.refused(b.reads(bob, 2), noPlace)
			b.want(b.endsWrite(ann+":1", ""), "0", "the release")
			b.granted(b.reads(bob, 2))
			b.granted(b.reads(cid, 1))
			b.want(b.eval(scripts.ConfirmRead, []string{one, rwLine, scripts.HoldKey(one, bob+":2")}, "PUBLISH", bob+":2", hour, rwChannel), "0", "confirm_read")
			b.want(b.endsRead(bob+":2", woken), "0", "the release beside another")
			b.want(b.endsRead(cid+":1", woken), "0", "the last release")
			b.want(b.must("GET", rwLine), "x", "the key")
		})
	})
}

func TestReadersPassNoWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		t.Run("behind a living writer a reader is refused, and before it none is", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.inbox(cid)
			b.reads(bob, 1)
			b.writes(cid, 1, secret)
			b.reads(dan, 1)
			b.must("DEL", one)
			standing("mode", "read", ann+":2", "1")(b)
			b.refused(b.reads(dan, 1), oldPlace)
			b.refused(b.reads(ann, 3), newPlace)
			b.granted(b.reads(bob, 1))
			b.stands(one, ann+":2=1", bob+":1=1", "mode=read")
			b.wantLine(writer(cid, 1), reader(dan, 1), reader(ann, 3))
		})
		b.run(t, "a free lock is read whoever stands in line", func(t *testing.T, b *box) {
			b.inbox(cid)
			b.stand(writer(cid, 1))
			b.granted(b.reads(bob, 1))
		})
		t.Run("the place of a dead writer goes, and the readers behind it are told", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			says, others := b.inbox(cid), b.inbox(dan)
			b.stand(writer(bob, 1), bob+":2:write 1", reader(cid, 1), reader(dan, 1))
			b.granted(b.reads(ann, 2))
			b.wantLine(reader(cid, 1), reader(dan, 1))
			says("0")
			others("") // the first tells it
			b.granted(b.reads(cid, 1))
			says("")
			others("0")
		})
		t.Run("also when another writer is alive", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			says, others := b.inbox(cid), b.inbox(dan)
			b.stand(writer(bob, 1), reader(cid, 1), writer(dan, 1))
			b.refused(b.reads(ann, 2), newPlace)
			b.wantLine(reader(cid, 1), writer(dan, 1), reader(ann, 2))
			says("0")
			others("")
		})
		t.Run("one behind it tells itself nothing", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			says := b.inbox(cid)
			b.stand(writer(bob, 1), reader(cid, 1))
			b.granted(b.reads(cid, 1))
			says("")
			b.wantLine()
		})
		t.Run("a writer behind 32 places is passed", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			b.inbox(cid)
			for n := range 32 {
				b.must("ZADD", rwLine, fmt.Sprint(n), reader(bob, n))
			}
			b.must("ZADD", rwLine, "31.5", writer(cid, 1))
			b.granted(b.reads(dan, 1))
			b.must("ZREM", rwLine, reader(bob, 0))
			b.refused(b.reads(dan, 2), newPlace)
		})
		t.Run("a reader that reads already is granted whoever waits", func(t *testing.T) {
			b := b.isRead(t, ann+":1", bob+":1")
			b.inbox(cid)
			b.listen(rwChannel)
			b.writes(cid, 1, secret)
			b.granted(b.reads(bob, 1))
			b.stands(one, ann+":1=1", bob+":1=1", "mode=read")
			b.wantLine(writer(cid, 1))
		})
		t.Run("readers beside others make way for those who listen, at the same times", func(t *testing.T) {
			b := b.isRead(t, ann+":1", old+":1") // beside one of Redisson's the first in line would listen, too
			confirm := func(millis int) string {
				keys := []string{one, rwLine, scripts.HoldKey(one, ann+":1")}
				return b.eval(inRound(scripts.ConfirmRead, millis), keys, "PUBLISH", ann+":1", hour, rwChannel)
			}
			early := inRound(scripts.AcquireRead, 130)
			b.granted(b.readsWith(early, "PUBLISH", rwLine, bob+":1", woken)) // nobody listens
			b.want(confirm(130), "0", "confirm_read")
			others, first := b.hears(rwChannel), b.inbox(cid)
			b.granted(b.readsWith(early, "PUBLISH", rwLine, bob+":1", woken)) // reads already
			b.granted(b.readsWith(early, "PUBLISH", one, dan+":1", woken))    // without a line it would not be told
			b.want(confirm(130), waiting(1, 1), "confirm_read")
			b.want(confirm(140), "1", "confirm_read")
			b.refused(b.readsWith(early, "PUBLISH", rwLine, cid+":1", ""), noPlace)
			b.wantLine()
			got := b.readsWith(early, "PUBLISH", rwLine, cid+":1", woken)
			b.refused(got, newPlace)
			b.refused(b.readsWith(early, "PUBLISH", rwLine, cid+":1", woken), oldPlace)
			if ttl, _ := got.Held(); ttl != 10*time.Millisecond {
				b.Errorf("it may ask again in %v, want 10ms", ttl)
			}
			b.endsWithin(rwLine, time.Minute)
			b.endsRead(ann+":1", "")
			b.endsRead(bob+":1", "")
			b.endsRead(dan+":1", "")
			b.want(b.endsRead(old+":1", ""), waiting(1, 1), "the last release")
			first("0 0 0 1") // as beside any owner outside, and at last to ask after a pause
			others("0")
			b.granted(b.readsWith(early, "PUBLISH", rwLine, cid+":1", woken)) // the lock is free
			b.granted(b.reads(dan, 2))
			for _, command := range []string{"TIME", "PUBSUB", "ZADD"} { // who may not ask, or gets no place, makes no way
				b.granted(b.readsWith(answering(early, command, refusal(scripts.NoPerm)), "PUBLISH", rwLine, dan+":"+command, woken))
			}
		})
		t.Run("a confirmation counts one place if a writer stands in line", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			confirm := func(line string, want string) {
				b.Helper()
				b.want(b.eval(inRound(scripts.ConfirmRead, 140), []string{one, line, scripts.HoldKey(one, ann+":1")}, "PUBLISH", ann+":1", hour, rwChannel), want, "confirm_read")
				b.lasts(one, hour)
				b.lasts(scripts.HoldKey(one, ann+":1"), hour)
			}
			b.listen(rwChannel)
			says := b.inbox(cid)
			confirm(rwLine, "1")
			b.stand(reader(cid, 1))
			confirm(rwLine, "1")
			b.must("ZADD", rwLine, "0", writer(bob, 1)) // is dead
			confirm(rwLine, "1")
			b.wantLine(reader(cid, 1))
			says("0")
			b.must("ZADD", rwLine, "2", writer(cid, 2), "3", writer(cid, 3), fmt.Sprint(int64(1<<52)), "since")
			confirm(rwLine, waiting(1, 1))
			confirm(one, "1")
		})
	})
}

// invariant: gift-counts-from-its-acquire
func TestReleasesToReadersAndWriters(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		t.Run("a writer gives the lock to the writer in front", func(t *testing.T) {
			b := b.written(t, ann+":1")
			first, second, all := b.inbox(bob), b.inbox(cid), b.hears(rwChannel)
			b.writes(bob, 1, secret)
			b.reads(cid, 1)
			b.writes(cid, 2, secret)
			b.gaveTo(b.endsWrite(ann+":1", ""), bob+":1")
			b.wantLine(reader(cid, 1), writer(cid, 2))
			b.endsWithin(rwLine, time.Minute)
			first(proof)
			second("")
			all("")
			b.want(b.endsWrite(ann+":1", ""), "-1", "the release, again")
			b.granted(b.writes(bob, 1, secret))
			b.lasts(one, 30*time.Second)
		})
		t.Run("the last reader gives it, too", func(t *testing.T) {
			b := b.isRead(t, ann+":1", ann+":2")
			first, all := b.inbox(bob), b.hears(rwChannel)
			b.writes(bob, 1, secret)
			b.want(b.endsRead(ann+":1", ""), "0", "the release beside another")
			first("")
			b.gaveTo(b.endsRead(ann+":2", ""), bob+":1")
			b.wantLine()
			first(proof)
			all("")
		})
		t.Run("one beside the dead is the last", func(t *testing.T) {
			b := b.isRead(t, ann+":1", dan+":1")
			b.must("DEL", scripts.HoldKey(one, dan+":1"))
			first := b.inbox(bob)
			b.writes(bob, 1, secret)
			b.gaveTo(b.endsRead(ann+":1", ""), bob+":1")
			first(proof)
		})
		t.Run("a reader that leaves while others read tells nobody", func(t *testing.T) {
			b := b.isRead(t, ann+":1", ann+":2")
			first, second, all := b.inbox(bob), b.inbox(cid), b.hears(rwChannel)
			b.reads(bob, 1) // is granted
			b.stand(reader(bob, 2), writer(cid, 1))
			b.want(b.endsRead(ann+":1", ""), "0", "the release")
			first("")
			second("")
			all("")
			b.wantLine(reader(bob, 2), writer(cid, 1))
		})
		for _, reads := range []bool{false, true} {
			freed := map[bool]string{false: "1", true: "0"}[reads] // the message of Redisson
			last := func(t *testing.T) (_ *box, release func() string) {
				if reads {
					b := b.isRead(t, ann+":1")
					return b, func() string { return b.endsRead(ann+":1", "") }
				}
				b := b.written(t, ann+":1")
				return b, func() string { return b.endsWrite(ann+":1", "") }
			}
			who := map[bool]string{false: "a writer", true: "the last reader"}[reads]
			t.Run(who+" tells the readers in front, and nobody behind a writer", func(t *testing.T) {
				b, release := last(t)
				first, second, third, all := b.inbox(bob), b.inbox(cid), b.inbox(dan), b.hears(rwChannel)
				b.stand(reader(bob, 1), reader(cid, 1), writer(dan, 1), reader(dan, 2), reader(cid, 3))
				b.want(release(), waiting(1, 5), "the release")
				first("0")
				second("0")
				third("")
				all(freed)
				b.want(b.must("EXISTS", one), "0", "EXISTS")
				if places := b.list("ZRANGE", rwLine, "0", "-1"); len(places) != 5 {
					t.Errorf("in line stand %q, want no more than the five", places)
				}
				b.granted(b.reads(cid, 1))
				first("0") // again: it may not have been told
				second("")
				b.granted(b.reads(bob, 1))
				second("")
				third("")
				b.want(b.endsRead(bob+":1", ""), "0", "the first release")
				b.gaveTo(b.endsRead(cid+":1", ""), dan+":1")
				third(proof)
			})
			t.Run(who+" tells 32 of them", func(t *testing.T) {
				b, release := last(t)
				run, next := b.inbox(bob), b.inbox(cid)
				for n := range 32 {
					b.must("ZADD", rwLine, fmt.Sprint(n), reader(bob, n))
				}
				b.must("ZADD", rwLine, "32", reader(cid, 1))
				b.want(release(), waiting(0, 33), "the release")
				run(strings.TrimSpace(strings.Repeat("0 ", 32)))
				next("")
				for n := range 31 {
					b.granted(b.reads(bob, n))
				}
				next("")
				b.granted(b.reads(bob, 31))
				next("0")
				b.granted(b.reads(cid, 1))
				b.want(b.must("EXISTS", rwLine), "0", "EXISTS of the line")
			})
			t.Run(who+" gives it to a writer that believes no message, too, which is told to ask", func(t *testing.T) {
				b, release := last(t)
				first, second, all := b.inbox(bob), b.inbox(cid), b.hears(rwChannel)
				b.writes(bob, 1, woken)
				b.reads(cid, 1)
				b.gaveTo(release(), bob+":1")
				first("0")
				second("")
				all("")
				b.granted(b.writes(bob, 1, woken))
				b.lasts(one, 30*time.Second)
				b.wantLine(reader(cid, 1))
			})
			t.Run(who+" tells a reader once, and when it has not come the writer behind it is given the lock", func(t *testing.T) {
				b, release := last(t)
				first, second := b.inbox(bob), b.inbox(cid)
				b.stand(reader(bob, 1), writer(cid, 1))
				b.want(release(), waiting(0, 2), "the release")
				first("0")
				b.wantLine(reader(bob, 1), writer(cid, 1))
				standing("mode", "write", ann+":2:write", "1")(b)
				b.gaveTo(b.endsWrite(ann+":2", ""), cid+":1")
				first("")
				second(proof)
				b.wantLine()
				b.refused(b.reads(bob, 1), newPlace)
			})
			t.Run(who+" leaves it for a while to a reader that it tells, and no writer in line passes that", func(t *testing.T) {
				b, release := last(t)
				b.inbox(bob)
				b.stand(reader(bob, 1))
				b.want(release(), waiting(0, 1), "the release")
				for _, place := range []scripts.Place{newPlace, oldPlace} {
					got := b.writes(cid, 1, secret)
					b.refused(got, place)
					if ttl, _ := got.Held(); ttl <= 0 || ttl > 500*time.Millisecond {
						b.Errorf("the writer may ask again in %v, want half a second or less", ttl)
					}
				}
				b.granted(b.reads(bob, 1))
				b.wantLine(writer(cid, 1))
			})
			t.Run(who+" tells a reader once more that has asked since it was told, and was refused", func(t *testing.T) {
				b, release := last(t)
				b.inbox(bob)
				b.stand(reader(bob, 1))
				b.want(release(), waiting(0, 1), "the release")
				standing("mode", "write", ann+":9:write", "1")(b)
				b.refused(b.reads(bob, 1), oldPlace)
				b.want(b.must("ZCOUNT", rwLine, "1", "1"), "1", "places that were not told")
			})
			t.Run(who+" leaves it to no reader that was told half a second ago", func(t *testing.T) {
				b, release := last(t)
				b.inbox(bob)
				b.stand(reader(bob, 1))
				b.want(release(), waiting(0, 1), "the release")
				b.must("ZADD", rwLine, fmt.Sprint(1+float64(1+(b.serverMillis()-501)%10_000)/16384), reader(bob, 1))
				b.granted(b.writes(cid, 1, secret))
			})
			t.Run(who+" passes the dead over", func(t *testing.T) {
				b, release := last(t)
				first := b.inbox(cid)
				b.must("ZADD", rwLine, "0", "what is no place", "1", writer(bob, 1), "2", reader(bob, 2), "3", bob+":3:write 1", "4", writer(cid, 1))
				b.gaveTo(release(), cid+":1")
				first(proof)
				b.wantLine()
			})
			t.Run(who+" tells the readers behind the dead, and those among them go later", func(t *testing.T) {
				b, release := last(t)
				first, last := b.inbox(cid), b.inbox(dan)
				b.stand(writer(bob, 1), reader(bob, 2), reader(cid, 1), reader(bob, 3), reader(bob, 4), reader(dan, 1))
				b.want(release(), waiting(0, 4), "the release")
				first("0")
				last("0")
				b.granted(b.reads(cid, 1))
				b.wantLine(reader(dan, 1))
				last("0")
			})
			t.Run(who+" frees the lock when nobody lives", func(t *testing.T) {
				b, release := last(t)
				all := b.hears(rwChannel)
				b.stand(writer(bob, 1), reader(bob, 2))
				b.want(release(), "1", "the release")
				all(freed)
				b.want(b.must("DBSIZE"), "0", "DBSIZE")
			})
			t.Run(who+" frees it at the end of a turn, for the writer in front", func(t *testing.T) {
				b, release := last(t)
				first, second, all := b.inbox(bob), b.inbox(cid), b.hears(rwChannel)
				b.stand(writer(bob, 1), reader(cid, 1))
				b.must("ZADD", rwLine, fmt.Sprint(int64(1<<52)), "since")
				b.want(release(), waiting(1, 2), "the release")
				first("1")
				second("")
				all(freed)
				b.want(b.must("EXISTS", one), "0", "EXISTS")
				b.wantLine(writer(bob, 1), reader(cid, 1))
			})
			t.Run(who+" frees it at the end of a turn, for the readers in front", func(t *testing.T) {
				b, release := last(t)
				first, second, third, all := b.inbox(bob), b.inbox(cid), b.inbox(dan), b.hears(rwChannel)
				b.stand(reader(bob, 1), reader(cid, 1), writer(dan, 1))
				b.must("ZADD", rwLine, fmt.Sprint(int64(1<<52)), "since")
				b.want(release(), waiting(1, 3), "the release")
				first("1")
				second("1")
				third("")
				all(freed)
				b.want(b.must("ZCARD", rwLine), "3", "ZCARD") // without since
			})
		}
		t.Run("whom it was given when its place still stood it leaves to the next", func(t *testing.T) {
			b := b.written(t, bob+":1")
			first := b.inbox(bob)
			b.stand(writer(bob, 1))
			b.want(b.endsWrite(bob+":1", ""), "0", "the release")
			first("")
			b.want(b.must("DBSIZE"), "0", "DBSIZE")
		})
		goesOn := map[string]func(b *box) string{
			"a writer that releases and reads on": func(b *box) string { return b.endsWrite(ann+":1", "") },
			"a writer that is downgraded": func(b *box) string {
				return b.eval(scripts.Downgrade, []string{one, rwLine, scripts.HoldKey(one, ann+":1")}, "PUBLISH", ann+":1:write", ann+":1", hour, rwChannel)
			},
		}
		for who, release := range goesOn {
			readsOn := func(t *testing.T) *box {
				b := b.written(t, ann+":1")
				b.must("HSET", one, ann+":1", "1")
				b.must("SET", scripts.HoldKey(one, ann+":1"), "1", "PX", "1800000")
				return b
			}
			t.Run(who+" tells the readers in front", func(t *testing.T) {
				b := readsOn(t)
				first, second, third, all := b.inbox(bob), b.inbox(cid), b.inbox(dan), b.hears(rwChannel)
				b.stand(reader(bob, 1), reader(cid, 1), writer(dan, 1), reader(bob, 2))
				b.want(release(b), "1", "the release")
				first("0")
				second("0")
				third("")
				all("1")
				b.stands(one, ann+":1=1", "mode=read")
				b.granted(b.reads(bob, 1))
				b.refused(b.reads(bob, 2), oldPlace)
			})
			t.Run(who+" tells no writer in front", func(t *testing.T) {
				b := readsOn(t)
				first, second, all := b.inbox(bob), b.inbox(cid), b.hears(rwChannel)
				b.stand(writer(bob, 1), reader(cid, 1))
				b.want(release(b), "1", "the release")
				first("")
				second("")
				all("1")
				b.wantLine(writer(bob, 1), reader(cid, 1))
			})
			t.Run(who+" tells the readers behind a dead writer", func(t *testing.T) {
				b := readsOn(t)
				first := b.inbox(cid)
				b.stand(writer(bob, 1), "what is no place", reader(cid, 1))
				b.want(release(b), "0", "the release")
				first("0")
				b.wantLine(reader(cid, 1))
			})
			t.Run(who+" tells nobody where nobody stands", func(t *testing.T) {
				b := readsOn(t)
				b.must("ZADD", rwLine, fmt.Sprint(int64(1<<52)), "since")
				b.want(release(b), "0", "the release")
				b.want(b.must("EXISTS", rwLine), "0", "EXISTS of the line")
			})
		}
		t.Run("who leaves is out, and the next is told if it is the first now", func(t *testing.T) {
			b := b.written(t, ann+":1")
			first, second := b.inbox(cid), b.inbox(dan)
			b.writes(bob, 1, secret)
			b.reads(cid, 1)
			b.reads(dan, 1)
			b.writes(bob, 2, secret)
			b.reads(bob, 3)
			b.want(b.endsWrite(bob+":2", secret), "-1", "a writer in the middle")
			b.want(b.endsRead(bob+":3", woken), "-1", "the last reader")
			first("")
			b.want(b.endsWrite(bob+":1", secret), "-1", "the first")
			first("0")
			second("0")
			b.wantLine(reader(cid, 1), reader(dan, 1))
			b.want(b.endsRead(cid+":1", woken), "-1", "the first reader")
			second("0")
			b.wantLine(reader(dan, 1))
			b.stands(one, ann+":1:write=1", "mode=write")
			b.want(b.endsRead(cid+":1", woken), "-1", "again")
			second("")
		})
		t.Run("who leaves with the lock passes it on", func(t *testing.T) {
			b := b.written(t, bob+":1")
			first := b.inbox(cid)
			b.stand(writer(bob, 1), writer(cid, 1))
			b.gaveTo(b.endsWrite(bob+":1", secret), cid+":1")
			first("0 " + proof)
			b = b.isRead(t, bob+":1")
			b.stand(reader(bob, 1), writer(cid, 2))
			b.gaveTo(b.endsRead(bob+":1", woken), cid+":2")
			first("0 " + proof)
		})
		t.Run("a writer that leaves lets the readers behind it in", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			b.inbox(bob)
			first := b.inbox(cid)
			b.writes(bob, 1, secret)
			b.refused(b.reads(cid, 1), newPlace)
			b.want(b.endsWrite(bob+":1", secret), "-1", "the writer")
			first("0")
			b.granted(b.reads(cid, 1))
		})
		t.Run("a code does not make a stranger leave", func(t *testing.T) {
			b := b.written(t, ann+":1")
			b.reads(bob, 1)
			b.want(b.endsRead(bob+":1", ""), "-1", "without a code")
			b.want(b.endsRead(bob+":2", woken), "-1", "another number")
			b.wantLine(reader(bob, 1))
		})
	})
}

func TestReadWriteLinesOfNames(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		names := []string{one, two, three}
		b.run(t, "several names in one call", func(t *testing.T, b *box) {
			b.must("HSET", one, "mode", "write", ann+":1:write", "1")
			b.must("HSET", two, "mode", "read", ann+":2", "1")
			acquire := func(script scripts.Script, owner string, args ...any) string {
				var keys []string
				all := []any{0, "PUBLISH"}
				for i, name := range names {
					field := fmt.Sprint(bob, ":", i)
					if keys = append(keys, name, scripts.LineKey(name)); script.Name == "acquire_read" {
						keys = append(keys, scripts.HoldKey(name, field))
					}
					all = append(append(all, field+owner, hour), args...)
				}
				return b.eval(script, keys, all...)
			}
			place := func(k int64) string { return fmt.Sprint(-k<<43 - 1) } // of locks without a TTL
			b.want(acquire(scripts.AcquireWriteInLine, ":write", secret), "["+place(2)+" "+place(2)+" 1]", "acquire_write_in_line")
			b.must("PERSIST", three)
			b.want(acquire(scripts.AcquireRead, "", woken), "["+place(2)+" 1 "+place(2)+"]", "acquire_read")
			b.want(fmt.Sprint(b.list("ZRANGE", scripts.LineKey(one), "0", "-1")), fmt.Sprint([]string{writer(bob, 0), reader(bob, 0)}), "the line of the first")
			b.want(fmt.Sprint(b.list("ZRANGE", scripts.LineKey(two), "0", "-1")), "[]", "the line of the second, whose writer is dead")
			b.want(fmt.Sprint(b.list("ZRANGE", scripts.LineKey(three), "0", "-1")), fmt.Sprint([]string{reader(bob, 2)}), "the line of the third")
			var keys []string
			args := []any{"PUBLISH"}
			for i, name := range names {
				b.must("DEL", name)
				b.must("HSET", name, "mode", "write", fmt.Sprint(ann, ":", i, ":write"), "1")
				keys = append(keys, name, scripts.LineKey(name))
				args = append(args, fmt.Sprint(ann, ":", i, ":write"), scripts.RWChannel(name))
				b.listen(scripts.Inbox(scripts.RWChannel(name), bob))
			}
			b.must("DEL", scripts.LineKey(two))
			b.want(b.eval(scripts.ReleaseWrite, keys, args...), "["+given+" 0 "+waiting(0, 1)+"]", "release_write")
			b.stands(one, bob+":0:write=1", "mode=write")
			b.stands(two)
			b.stands(three)
		})
		b.run(t, "a name with a hash tag", func(t *testing.T, b *box) {
			channel, line := scripts.RWChannel(two), scripts.LineKey(two)
			heard := b.hears(scripts.Inbox(channel, bob))
			b.must("HSET", two, "mode", "read", ann+":1", "1")
			b.must("SET", scripts.HoldKey(two, ann+":1"), "1", "PX", "60000")
			b.eval(scripts.AcquireWriteInLine, []string{two, line}, 0, "PUBLISH", bob+":1:write", hour, secret)
			b.want(fmt.Sprint(b.list("ZRANGE", line, "0", "-1")), "["+writer(bob, 1)+"]", "the line")
			b.want(b.eval(scripts.ReleaseRead, []string{two, line, scripts.HoldKey(two, ann+":1")}, "PUBLISH", 0, ann+":1", channel), given, "the release")
			b.stands(two, bob+":1:write=1", "mode=write")
			heard(proof)
		})
		b.run(t, "a lock outside of which the dead stand before us is looked at by its own channel", func(t *testing.T, b *box) {
			channel, line := scripts.RWChannel(two), scripts.LineKey(two)
			b.listen(scripts.Inbox(channel, bob))
			b.must("HSET", two, "mode", "write", old+":1:write", "1")
			b.must("ZADD", line, "1", writer(cid, 1), "2", writer(bob, 1), "3", reader(dan, 1))
			b.eval(scripts.AcquireRead, []string{two, line, scripts.HoldKey(two, dan+":1")}, 0, "PUBLISH", dan+":1", hour, woken)
			b.want(fmt.Sprint(b.list("ZRANGE", line, "0", "-1")), fmt.Sprint([]string{writer(bob, 1), reader(dan, 1)}), "the line")
		})
		t.Run("without a line nobody stands, and whoever does is not seen", func(t *testing.T) {
			b := b.written(t, ann+":1")
			says, all := b.inbox(bob), b.hears(rwChannel)
			b.stand(writer(bob, 1))
			apart := []string{one, one}
			hold := func(owner string) []string { return []string{one, one, scripts.HoldKey(one, owner)} }
			b.refused(b.readsWith(scripts.AcquireRead, "PUBLISH", one, cid+":1", woken), noPlace)
			b.refused(scripts.Reply(number64(b, b.eval(scripts.AcquireWriteInLine, apart, 0, "PUBLISH", cid+":1:write", hour, secret))), noPlace)
			b.want(b.eval(scripts.ReleaseWriteFromLine, apart, "PUBLISH", ann+":1:write", rwChannel, secret), "1", "release_write")
			all("1")
			b.granted(b.readsWith(scripts.AcquireRead, "PUBLISH", one, cid+":1", woken))
			b.granted(b.readsWith(scripts.AcquireRead, "PUBLISH", one, cid+":2", woken))
			b.want(b.eval(scripts.ConfirmRead, hold(cid+":1"), "PUBLISH", cid+":1", hour, rwChannel), "1", "confirm_read")
			b.want(b.eval(scripts.ReleaseReadFromLine, hold(cid+":1"), "PUBLISH", 0, cid+":1", rwChannel, woken), "0", "release_read beside another")
			all("")
			b.want(b.eval(scripts.ReleaseReadFromLine, hold(cid+":2"), "PUBLISH", 0, cid+":2", rwChannel, woken), "1", "release_read")
			all("0")
			b.must("HSET", one, "mode", "write", cid+":4:write", "1")
			b.want(b.eval(scripts.Downgrade, hold(cid+":4"), "PUBLISH", cid+":4:write", cid+":4", hour, rwChannel), "1", "downgrade")
			all("1")
			says("")
			b.wantLine(writer(bob, 1))
			b.want(b.must("DBSIZE"), "3", "DBSIZE") // lock, hold and line
		})
	})
}

// invariant: gift-counts-from-its-acquire
func TestTurnsOfReadersAndWriters(t *testing.T) {
	b := realBox(t)
	for name, of := range map[string]struct {
		since int64 // before now; -1: nothing was given
		gives bool  // readers are told in its place, which begins no turn and ends none
	}{
		"none has begun":                     {-1, true},
		"the last of a turn":                 {99, true},
		"the turn is over":                   {100, false},
		"the clock of the turn was put back": {-2, false},
	} {
		for _, reads := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", a writer is the first", true: ", readers are"}[reads], func(t *testing.T) {
				b := b.written(t, ann+":1")
				first, second, all := b.inbox(bob), b.inbox(cid), b.hears(rwChannel)
				b.stand(writer(bob, 1), writer(cid, 1))
				if reads {
					b.must("DEL", rwLine)
					b.stand(reader(bob, 1), reader(cid, 1))
				}
				score := int64(1<<52 + frozenNow) // it begins now
				if of.since != -1 {
					score -= of.since
					b.must("ZADD", rwLine, fmt.Sprint(score), "since")
				}
				reply := b.eval(frozen(scripts.ReleaseWrite), []string{one, rwLine}, "PUBLISH", ann+":1:write", rwChannel)
				switch {
				case of.gives && reads:
					first("0")
					second("0")
					all("1")
				case of.gives:
					first(proof)
					second("")
					all("")
				default:
					first("1")
					second(map[bool]string{true: "1"}[reads])
					all("1")
				}
				if of.gives && !reads {
					b.want(reply, given, "the release")
					b.want(b.must("ZSCORE", rwLine, "since"), fmt.Sprint(score), "since")
					return
				}
				b.want(reply, waiting(1, 2), "the release")
				b.want(b.must("EXISTS", one), "0", "EXISTS")
				since := map[bool]string{true: "1", false: "0"}[of.since == 99]
				b.want(b.must("ZCOUNT", rwLine, fmt.Sprint(int64(1<<52)), "+inf"), since, "since")
			})
		}
	}
}

// A client of Redisson that stays behind when an engine's reader leaves tells nobody but who listens to the lock's channel. So the first in
// line is told to ask: it learns that it is to listen.
func TestAReaderThatLeavesTheLockToAnOutsiderTellsTheFirst(t *testing.T) {
	b := realBox(t)
	for owner, want := range map[string]string{"java:1": "0", bob + ":7": ""} {
		b := b.isRead(t, ann+":1", owner)
		first, second := b.inbox(cid), b.inbox(dan)
		b.stand(writer(cid, 1), writer(dan, 1))
		b.want(b.endsRead(ann+":1", ""), "0", "release_read")
		first(want)
		second("")
		b.stands(one, owner+"=1", "mode=read")
	}
}

// Where Redis refuses a command the lock is free or somebody's, with an end, and nobody hears a code of a lock that it does not have.
// invariant: reply-says-what-redis-holds, gift-counts-from-its-acquire
func TestWhatCannotBeGivenToAWriterIsFreed(t *testing.T) {
	b := realBox(t)
	for _, of := range refusedGifts {
		for _, place := range []string{writer(bob, 1), bob + ":1:write 1"} {
			check := func(b *box, reply string, says func(string)) {
				b.Helper()
				b.want(reply, of.reply, "the release")
				if place == writer(bob, 1) {
					says(of.heard)
				} else {
					says(heardWith(woken, of.heard))
				}
				switch {
				case of.reply != given:
					b.want(b.must("EXISTS", one), "0", "EXISTS")
				default:
					b.gaveTo(reply, bob+":1")
				}
			}
			name := place[len(bob)+1:] + ", " + of.how + ", " + of.command + " answers " + of.answer
			t.Run("from a writer to "+name, func(t *testing.T) {
				b := b.written(t, ann+":1")
				says := b.inbox(bob)
				b.stand(place)
				check(b, b.eval(answering(scripts.ReleaseWrite, of.command, of.answer), []string{one, rwLine}, of.how, ann+":1:write", rwChannel), says)
			})
			t.Run("from a reader to "+name, func(t *testing.T) {
				b := b.isRead(t, ann+":1")
				says := b.inbox(bob)
				b.stand(place)
				keys := []string{one, rwLine, scripts.HoldKey(one, ann+":1")}
				check(b, b.eval(answering(scripts.ReleaseRead, of.command, of.answer), keys, of.how, 0, ann+":1", rwChannel), says)
			})
		}
	}
	t.Run("what cannot be taken back ends", func(t *testing.T) {
		b := b.written(t, ann+":1")
		says := b.inbox(bob)
		b.stand(writer(bob, 1))
		refused := wrapped(scripts.ReleaseWrite, "", "if name == 'PUBLISH' or name == 'HDEL' then return 'NOPERM' end", "")
		b.want(b.eval(refused, []string{one, rwLine}, "PUBLISH", ann+":1:write", rwChannel), "-2", "the release")
		b.stands(one, bob+":1:write=1", "mode=write")
		b.endsWithin(one, 2*time.Second)
		says("")
	})
	for _, command := range []string{"HSET", "PEXPIRE"} {
		b.run(t, "a reader whose "+command+" is refused keeps its place, and the lock its end", func(t *testing.T, b *box) {
			b.stand(reader(bob, 1))
			ask := answering(scripts.AcquireRead, command, refusal(scripts.OutOfMem))
			b.want(fmt.Sprint(int64(b.readsWith(ask, "PUBLISH", rwLine, bob+":1", woken))), fault(scripts.OutOfMem), "the acquire")
			b.wantLine(reader(bob, 1))
			b.want(b.must("EXISTS", one), "0", "EXISTS")
		})
	}
	t.Run("a reader that may not see who listens passes no writer, and leaves it its place", func(t *testing.T) {
		b := b.isRead(t, ann+":1")
		b.writes(bob, 1, secret) // and is dead
		user := b.limited(t, "&*", "~*", "+@all", "-pubsub")
		b.refused(user.reads(cid, 1), newPlace)
		b.wantLine(writer(bob, 1), reader(cid, 1))
	})
	t.Run("one that may not see the line passes it", func(t *testing.T) {
		b := b.isRead(t, ann+":1")
		b.inbox(bob)
		b.writes(bob, 1, secret)
		b.granted(b.readsWith(answering(scripts.AcquireRead, "ZRANGE", refusal(scripts.NoPerm)), "PUBLISH", rwLine, cid+":1", woken))
	})
	t.Run("one that cannot take a dead writer out reads, and tells nobody", func(t *testing.T) {
		b := b.isRead(t, ann+":1")
		says := b.inbox(dan)
		b.stand(writer(bob, 1), reader(dan, 1))
		b.granted(b.readsWith(answering(scripts.AcquireRead, "ZREM", refusal(scripts.NoPerm)), "PUBLISH", rwLine, cid+":1", woken))
		says("")
		b.wantLine(writer(bob, 1), reader(dan, 1))
	})
	for command, refusedPlace := range map[string]bool{"ZSCORE": true, "ZADD": true, "ZRANGE": false, "HLEN": false, "HGETALL": false} {
		t.Run("a place while "+command+" is refused", func(t *testing.T) {
			b := b.written(t, ann+":1")
			reply := b.readsWith(answering(scripts.AcquireRead, command, refusal(scripts.NoPerm)), "PUBLISH", rwLine, bob+":1", woken)
			if _, taken := reply.Held(); !taken || reply.Place().Stands == refusedPlace {
				t.Errorf("answered %d: %+v", reply, reply.Place())
			}
			if got := len(b.inLine()); (got == 0) != refusedPlace {
				t.Errorf("%d stand in line", got)
			}
		})
	}
}

// Engines that listen by SUBSCRIBE, by SSUBSCRIBE or both ways.
func TestReadWriteLinesOfShardedChannels(t *testing.T) {
	b := realBox(t)
	for _, how := range []string{"SPUBLISH", "BOTH"} {
		says := func(b *box, engine string) func(want string) {
			channel := scripts.Inbox(rwChannel, engine)
			heard := b.listenSharded(channel)
			return func(want string) {
				b.Helper()
				b.must("SPUBLISH", channel, "the end")
				var all []string
				for message := range heard {
					if message == "the end" {
						break
					}
					all = append(all, message)
				}
				b.want(strings.Join(all, " "), want, channel)
			}
		}
		release := func(b *box) string {
			return b.eval(scripts.ReleaseWrite, []string{one, rwLine}, how, ann+":1:write", rwChannel)
		}
		t.Run(how+" gives the lock", func(t *testing.T) {
			b := b.written(t, ann+":1")
			first := says(b, bob)
			b.writes(bob, 1, secret)
			b.gaveTo(release(b), bob+":1")
			first(proof)
		})
		t.Run(how+" tells a run of readers", func(t *testing.T) {
			b := b.written(t, ann+":1")
			first, second := says(b, bob), says(b, cid)
			b.reads(bob, 1)
			b.reads(cid, 1)
			b.want(release(b), waiting(0, 2), "the release")
			first("0")
			second("0")
			b.granted(b.readsWith(scripts.AcquireRead, how, rwLine, bob+":1", woken))
			second("0")
		})
		t.Run(how+" finds a writer alive", func(t *testing.T) {
			b := b.isRead(t, ann+":1")
			says(b, bob)
			b.writes(bob, 1, secret)
			b.refused(b.readsWith(scripts.AcquireRead, how, rwLine, cid+":1", woken), newPlace)
			b.want(b.eval(scripts.ConfirmRead, []string{one, rwLine, scripts.HoldKey(one, ann+":1")}, how, ann+":1", hour, rwChannel), waiting(0, 1), "confirm_read")
			b.granted(b.reads(cid, 1)) // PUBLISH does not
			b.wantLine()
		})
	}
	t.Run("BOTH tells who listens both ways by both", func(t *testing.T) {
		b := b.written(t, ann+":1")
		plain := b.inbox(bob)
		sharded := b.listenSharded(scripts.Inbox(rwChannel, bob))
		b.reads(bob, 1)
		b.want(b.eval(scripts.ReleaseWrite, []string{one, rwLine}, "BOTH", ann+":1:write", rwChannel), waiting(0, 1), "the release")
		plain("0")
		b.want(<-sharded, "0", "the sharded inbox")
	})
}

// invariant: gift-counts-from-its-acquire
func TestManyDeadStandInAReadWriteLine(t *testing.T) {
	b := realBox(t)
	for place, text := range map[string]string{"writers": ":1:write 77", "readers": ":1 0"} {
		for _, dead := range []int{33, 999} {
			behind := func(t *testing.T, b *box) {
				places := []string{"ZADD", rwLine}
				for i := range dead {
					places = append(places, fmt.Sprint(i), fmt.Sprintf("eeeeeeee-0000-8000-8000-%012x%s", i, text))
				}
				b.must(places...)
			}
			t.Run(fmt.Sprintf("a release behind %d %s", dead, place), func(t *testing.T) {
				b := b.written(t, ann+":1")
				behind(t, b)
				first := b.inbox(bob)
				b.writes(bob, 1, secret)
				b.gaveTo(b.endsWrite(ann+":1", ""), bob+":1")
				first(proof)
			})
			t.Run(fmt.Sprintf("readers behind %d %s", dead, place), func(t *testing.T) {
				b := b.written(t, ann+":1")
				behind(t, b)
				first, second := b.inbox(bob), b.inbox(cid)
				b.reads(bob, 1)
				b.reads(cid, 1)
				b.want(b.endsWrite(ann+":1", ""), waiting(0, 2), "the release")
				first("0")
				second("0")
			})
			if place == "readers" {
				b.run(t, fmt.Sprintf("one that has begun to read before %d dead", dead), func(t *testing.T, b *box) {
					behind(t, b)
					b.must("ZADD", rwLine, "-1", reader(bob, 1), "10000", reader(cid, 1))
					next := b.inbox(cid)
					b.granted(b.reads(bob, 1))
					next("0")
					b.wantLine(reader(cid, 1))
				})
			}
		}
	}
}
