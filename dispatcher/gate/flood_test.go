package gate

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// flooded is a machine whose channel is flooded with messages while every command about it is answered at once.
type flooded struct {
	m    Machine
	fx   Effects
	asks int
}

// step makes one event happen and answers what it asks for.
func (f *flooded) step(now Time, event func(), answer func(*Command)) {
	event()
	for again := true; again; {
		again = false
		for op := range f.fx.Commands {
			commands := f.fx.Commands[op]
			f.fx.Commands[op] = nil
			for i := range commands {
				again = true
				f.asks++
				c := commands[i]
				c.Sent = now
				answer(&c)
				f.m.Answer(now, &c, &f.fx)
			}
		}
	}
}

// Invariant: how often a name is asked for because of messages is bounded, whoever publishes them: a flood must cost
// its sender more than it costs the engines that listen.
// invariant: one-command-per-name
func TestFloodOfMessagesIsBoundedForEachName(t *testing.T) {
	const lease = time.Hour
	held := func(now Time) func(*Command) {
		return func(c *Command) {
			switch c.Op {
			case AcquireRead, AcquireWrite, Acquire, AcquireFenced, AcquireSimple, FairAsk:
				c.Reply = scripts.Reply(-(lease - now).Milliseconds() - 2) // the same owner all the time
			case AcquireInLine, AcquireWriteInLine, AcquireSimpleInLine:
				c.Reply = scripts.Reply(-1<<43 - (lease - now).Milliseconds() - 2)
			case PermitTake:
				c.Reply = scripts.Reply(-lease.Milliseconds() - 2)
			case GetCount, Renew, RenewSimple: // of what was adopted
				c.Reply = 1
			}
		}
	}
	ours := func(Time) func(*Command) { return func(c *Command) { c.Reply = 1 } }
	passed := func(Time) func(*Command) { // a confirmation says that a place is taken
		return func(c *Command) { c.Reply = map[bool]scripts.Reply{true: 1 << 32, false: 1}[c.Op == ConfirmRead] }
	}
	inbox, adopted := scripts.Inbox(scripts.LockChannel("stock:7"), "A"), "x:1"
	for name, tt := range map[string]struct {
		kind   Kind
		answer func(Time) func(*Command)
		reads  bool
	}{
		"a mutex that another owner has": {MutexKind, held, false}, "a fenced mutex": {FencedKind, held, false}, "a simple mutex": {SimpleKind, held, false}, "a fair mutex": {FairKind, held, false},
		"a reader": {RWKind, held, true}, "a writer": {RWKind, held, false},
		"a semaphore": {SemaphoreKind, held, false}, "permits": {PermitKind, held, false}, "a latch": {LatchKind, held, false},
		"a mutex of ours": {MutexKind, ours, false}, "a simple mutex of ours": {SimpleKind, ours, false}, "a fair mutex of ours": {FairKind, ours, false},
		"a mutex that was adopted beside a place": {MutexKind, held, false}, "a simple mutex that was adopted": {SimpleKind, held, false},
		"a reader of ours": {RWKind, ours, true}, "a reader of ours, and a writer in line": {RWKind, passed, true}, "a writer of ours": {RWKind, ours, false},
	} {
		for where, channels := range map[string][]string{"both channels": {"", inbox}, "the inbox": {inbox}} {
			t.Run(name+" "+where, func(t *testing.T) {
				cfg := &Config{LeaseTime: 30 * time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, FairWaiterLease: 5 * time.Second,
					Stats: &Stats{}, UUID: "A", Codes: plainCodes{}}
				f := &flooded{m: NewEntry("stock:7", tt.kind, cfg).Machine}
				waiter := func() *Waiter {
					return &Waiter{By: &answers{}, Hold: &Hold{By: nobodyEnds{}}, LeaseTime: cfg.LeaseTime, Watch: true, Write: !tt.reads, N: 1, Entry: f.m.entry()}
				}
				const later = 20 * time.Millisecond // than HandoffTime
				for i := range 2 {                  // with an hold of ours: its holder, and one who waits
					now := later * Time(i)
					f.step(now, func() { f.m.Ask(now, waiter(), &f.fx) }, tt.answer(now))
				}
				f.step(later, func() { f.m.Subscribed(later, inbox, "", &f.fx) }, tt.answer(later))
				if strings.Contains(name, "adopted") {
					w := waiter()
					w.Adopts = &adopted
					f.step(later, func() { f.m.Ask(later, w, &f.fx) }, ours(later))
				}
				f.asks = 0
				const lasts, messages = 2 * time.Second, 20_000
				for i := range messages {
					now := later + lasts*Time(i)/messages
					f.step(now, func() {
						if now >= f.m.NextAlarm() {
							f.m.Wake(now, &f.fx)
						}
						var news News
						news.Add([]int64{0, 1, -5063, cfg.Codes.Code(cfg.LastID - 1), -cfg.Codes.Code(1), 7}[i%6]) // of engines, of Redisson, and what a forger may say
						news.Channel = channels[i/6%len(channels)]
						f.m.Message(now, news, &f.fx)
					}, tt.answer(now))
				}
				if most := 200; f.asks > most { // every 16 ms, ten at first, every 140 ms at the end of a pause, and every 40 ms for an old gift
					t.Errorf("%d messages in %v led to %d commands, want at most %d", messages, lasts, f.asks, most)
				}
				if f.asks < 10 {
					t.Errorf("%d messages in %v led to %d commands: they are hints, and must be heeded", messages, lasts, f.asks)
				}
			})
		}
	}
}

type nobodyEnds struct{}

func (nobodyEnds) End(Why) {}

// Answers of a busy machine come after some milliseconds, now these and now those. Then the end of the owner's lease seems to move,
// but nobody has taken the lock.
func TestFloodIsBoundedWhereAnswersAreSlow(t *testing.T) {
	const lease = time.Hour
	for name, kind := range map[string]Kind{"a mutex": MutexKind, "a writer": RWKind} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			cfg := &Config{LeaseTime: 30 * time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 20 * time.Second, Stats: &Stats{}, UUID: "A", Codes: plainCodes{}, Doubts: true}
			m := NewEntry("stock:7", kind, cfg).Machine
			var fx Effects
			now, asks := Time(0), 0
			answered := func() {
				for op := range fx.Commands {
					for len(fx.Commands[op]) > 0 {
						c := fx.Commands[op][0]
						fx.Commands[op] = fx.Commands[op][1:]
						asks++
						c.Sent = now
						ran := now + Time(r.Int64N(int64(6*time.Millisecond)))
						now = ran + Time(r.Int64N(int64(6*time.Millisecond)))
						c.Reply = scripts.Reply(-(lease - ran).Milliseconds() - 2)
						m.Answer(now, &c, &fx)
					}
				}
			}
			w := &Waiter{By: &answers{}, Hold: &Hold{By: nobodyEnds{}}, LeaseTime: cfg.LeaseTime, Watch: true, Write: true, Entry: m.entry()}
			m.Ask(now, w, &fx)
			answered()
			m.Subscribed(now, scripts.Inbox(scripts.LockChannel("stock:7"), "A"), "", &fx)
			answered()
			asks = 0
			for began := now; now < began+10*time.Second; now += 100 * time.Microsecond {
				if now >= m.NextAlarm() {
					m.Wake(now, &fx)
				}
				m.Message(now, oneMessage, &fx)
				answered()
			}
			if most := 650; asks > most { // with a question on its way all the time it would be 1,600
				t.Errorf("10 s of messages led to %d commands, want at most %d", asks, most)
			}
		})
	}
}

// Redis tells of a change of a key once for each time that the key was read (WatchLoss). So however often somebody else changes the
// key, the engine asks once a round trip. invariant: one-command-per-name
func TestChangesOfAKeyLeadToAQuestionEachRoundTrip(t *testing.T) {
	for kind, name := range kindNames {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, kind, 30*time.Second)
			b.rtt = 2 * time.Millisecond
			u := b.ask(func(w *Waiter) { w.Write = true })
			b.run(100 * time.Millisecond)
			b.sent = make(map[Op][]Time)
			for range 20_000 {
				b.run(100 * time.Microsecond)
				b.step(func(m Machine) { m.Suspect(b.now, &b.fx) })
			}
			n := 0
			for _, sent := range b.sent {
				n += len(sent)
			}
			if most := 1100; n > most || u.over {
				t.Errorf("20,000 changes in 2 s, with round trips of 2 ms, led to %d commands, want at most %d; over: %v", n, most, u.over)
			}
		})
	}
}

// answers notes what a caller is told.
type answers struct{ out []Outcome }

func (a *answers) Settle(out Outcome) bool { a.out = append(a.out, out); return true }
