package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// ills are what a server may answer for a while.
var ills = map[string]func(*Command){
	"READONLY":   func(c *Command) { c.Result, c.Reply = Answered, faultReply(scripts.ReadOnly) },
	"NOREPLICAS": func(c *Command) { c.Result, c.Reply = Answered, faultReply(scripts.NoReplicas) },
	"LOADING":    func(c *Command) { c.Result, c.ServerMessage = Again, "LOADING" },
	"lost":       func(c *Command) { c.Result = Unknown },
	"alone":      func(c *Command) { well(c); c.Unreplicated() },
	"too late": func(c *Command) {
		if well(c); c.Op >= Give {
			c.Reply = -(1 << 52) - 1
		}
	},
	"OOM": func(c *Command) {
		if well(c); c.Op >= Give {
			c.Reply = faultReply(scripts.OutOfMem)
		}
	},
}

var kindNames = map[Kind]string{MutexKind: "mutex", FencedKind: "fenced", SpinKind: "spin", SimpleKind: "simple", FairKind: "fair",
	SemaphoreKind: "semaphore", LatchKind: "latch", PermitKind: "permits", RWKind: "rw"}

// mostInVain is how many commands of one operation a name sends within a second, of those that are in vain.
const mostInVain = 10

func (b *bench) wantFew(after Time) {
	b.t.Helper()
	if n, op := b.rate(after); n > mostInVain {
		b.t.Errorf("%d commands within a second: %v; in all %s", n, op, b.counts())
	}
}

// What is asked for in vain is asked for ever more rarely, whatever it is: a server that is ill, or a link that is
// slow, gets no more than some commands a second for each name.
func TestWhatIsInVainIsRepeatedRarely(t *testing.T) {
	for illName, ill := range ills {
		for kind, kindName := range kindNames {
			for doing, begin := range map[string]func(b *bench){
				"waiters": func(b *bench) { b.answer = ill; b.ask(nil); b.ask(nil) },
				"holders": func(b *bench) { b.ask(nil); b.run(100 * time.Millisecond); b.answer = ill; b.ask(nil) },
				"unlocks": unlocksUnder(ill),
				"busy":    busyUnder(ill),
				"changes": changesUnder(ill),
				"gone": func(b *bench) {
					b.answer = ill
					u := b.ask(nil)
					b.step(func(m Machine) { u.out = &Outcome{}; m.EndWait(b.now, &u.w, GaveUp, &b.fx) })
				},
				"freed": func(b *bench) {
					b.answer = ill
					b.ask(nil)
					if m, can := b.entry.Machine.(*Lock); can {
						b.step(func(Machine) { m.Force(b.now, "java:1", 0, nil, &b.fx) })
					}
				},
				"re-entry": reentryUnder(ill),
			} {
				for _, lease := range []time.Duration{time.Second, 30 * time.Second} {
					t.Run(fmt.Sprintf("%s/%s/%s/%v", illName, kindName, doing, lease), func(t *testing.T) {
						b := newBench(t, kind, lease)
						begin(b)
						began := b.now
						b.run(10 * time.Second)
						b.wantFew(began + time.Second)
					})
				}
			}
		}
	}
}

func unlocksUnder(ill func(*Command)) func(*bench) {
	return func(b *bench) {
		first, other := b.ask(nil), b.ask(func(w *Waiter) { w.LeaseTime = b.cfg.LeaseTime / 2 })
		b.run(100 * time.Millisecond)
		b.answer = ill
		for _, u := range []*benchUser{first, other} {
			if u.out != nil && u.hold.alive {
				b.step(func(m Machine) { m.Unlock(b.now, &u.hold, nil, &b.fx) })
			}
		}
	}
}

// busyUnder is a name that is handed on within the process, all the time.
func busyUnder(ill func(*Command)) func(*bench) {
	return func(b *bench) {
		users := []*benchUser{b.ask(nil), b.ask(nil), b.ask(nil)}
		for i := range 2000 {
			if i == 100 {
				b.answer = ill
			}
			b.run(time.Millisecond)
			for k, u := range users {
				if u.out != nil && u.hold.alive {
					b.step(func(m Machine) { m.Unlock(b.now, &u.hold, nil, &b.fx) })
				}
				if u.out != nil && !u.hold.alive {
					users[k] = b.ask(nil)
				}
			}
			if i > 1500 { // long in vain: the longest turn of a spin lock, in which its confirmations may go well, is over
				b.wantFew(b.now - 500*time.Millisecond)
			}
			if b.t.Failed() {
				return
			}
		}
	}
}

func changesUnder(ill func(*Command)) func(*bench) {
	return func(b *bench) {
		b.answer = ill
		m, counts := b.entry.Machine.(*Sequencer)
		if !counts {
			return
		}
		change := ChangeCount(Give, 1)
		switch b.entry.Kind {
		case LatchKind:
			change.Op = CountDown
		case PermitKind:
			change = Change{Op: PermitFree, Args: PermitFreeArgs{IDs: scripts.PermitIDs(strings.Repeat("x", 16))}.Args(), Numbers: []uint64{0}}
		}
		b.step(func(Machine) { m.Change(b.now, change, &b.fx) })
	}
}

func reentryUnder(ill func(*Command)) func(*bench) {
	return func(b *bench) {
		b.ask(func(w *Waiter) { w.Owner, w.Watch, w.Write = 7, false, true })
		b.run(100 * time.Millisecond)
		b.answer = ill
		b.ask(func(w *Waiter) { w.Owner, w.LeaseTime, w.Watch, w.Write = 7, 2*b.cfg.LeaseTime, false, true })
	}
}

// A lease shorter than the round trip is over before its holder hears of it. Who asks once is told so, who waits asks
// again and again, rarely, also when messages say that the name is free, and hears the reason when it gives up.
func TestALeaseShorterThanTheRoundTrip(t *testing.T) {
	short := func(w *Waiter) { w.LeaseTime, w.Watch = 20*time.Millisecond, false }
	for kind, name := range kindNames {
		if kind == SemaphoreKind || kind == LatchKind { // no leases
			continue
		}
		for _, write := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, write %v", name, write), func(t *testing.T) {
				slow := func() *bench {
					b := newBench(t, kind, time.Second)
					b.rtt = 23 * time.Millisecond
					return b
				}
				b := slow()
				u := b.ask(func(w *Waiter) { short(w); w.Try, w.Write = true, write })
				b.run(10 * time.Second)
				if u.out == nil || u.out.Why != TooLate || !strings.Contains(u.out.ServerMessage, "the lease of 20ms") || !strings.Contains(u.out.ServerMessage, "23ms after") {
					t.Errorf("a try is told %+v", u.out)
				}
				if n, _ := b.rate(0); n != 1 {
					t.Errorf("a try asks once, and gives back once; sent: %s", b.counts())
				}

				b = slow()
				u = b.ask(func(w *Waiter) { short(w); w.Write = write })
				began := b.now
				for range 2000 {
					b.run(5 * time.Millisecond)
					b.step(func(m Machine) { m.Message(b.now, oneMessage, &b.fx) })
				}
				b.wantFew(began + time.Second)
				if u.out != nil {
					t.Fatalf("a waiter is told %+v", u.out)
				}
				b.step(func(m Machine) { m.EndWait(b.now, &u.w, TimedOut, &b.fx) })
				if u.out == nil || u.out.Why != TimedOut || u.out.Last != TooLate || u.out.ServerMessage == "" {
					t.Errorf("a waiter that gives up is told %+v", u.out)
				}
				b.run(time.Minute)
				if !b.entry.Machine.Idle() {
					t.Error("something is left")
				}
			})
		}
	}
}

// A link that is there again, or another one after hash slots have moved, ends the pauses.
func TestALinkThatIsThereAgainIsAskedAtOnce(t *testing.T) {
	for kind, name := range kindNames {
		for illName, ill := range ills {
			t.Run(name+"/"+illName, func(t *testing.T) {
				b := newBench(t, kind, time.Minute)
				b.answer = ill
				u := b.ask(nil)
				b.run(3 * time.Second)
				b.answer = func(c *Command) {
					if well(c); c.Op == GetCount {
						c.Reply = 0
					}
				}
				for len(b.answers) > 0 {
					b.run(time.Millisecond)
				}
				if u.out == nil {
					b.step(func(m Machine) { m.LinkUp(b.now, &b.fx) })
					b.run(2 * b.rtt)
				}
				if u.out == nil || u.out.Why != Granted {
					t.Errorf("a waiter is told %+v", u.out)
				}
			})
		}
	}
}

// A renewal that fails is tried again several times within what is left of the lease, however short or long it is.
func TestARenewalIsTriedSeveralTimesWithinItsLease(t *testing.T) {
	for _, kind := range []Kind{MutexKind, FencedKind, SpinKind, SimpleKind, FairKind, PermitKind, RWKind} {
		for _, lease := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute} {
			for illName, ill := range ills {
				t.Run(fmt.Sprintf("%s/%s/%v", illName, kindNames[kind], lease), func(t *testing.T) {
					b := newBench(t, kind, lease)
					u := b.ask(nil)
					b.run(lease / 10)
					b.answer = ill
					b.sent = make(map[Op][]Time)
					for !u.over && b.now < time.Hour+2*lease {
						b.run(time.Millisecond)
					}
					most := 0
					for _, op := range []Op{Renew, RenewRead, RenewSimple, PermitRenew} {
						most = max(most, len(b.sent[op]))
					}
					if most < 5 && u.over {
						t.Errorf("sent: %s", b.counts())
					}
				})
			}
		}
	}
}

// A re-entry that needs more of the lease than there is waits for a renewal. Who asks once is told when that is refused.
func TestATryToReenterIsToldThatTheRenewalWasRefused(t *testing.T) {
	for _, kind := range []Kind{MutexKind, FencedKind, SimpleKind, FairKind, RWKind} {
		for _, illName := range []string{"READONLY", "NOREPLICAS", "LOADING", "lost", "alone"} {
			t.Run(kindNames[kind]+"/"+illName, func(t *testing.T) {
				b := newBench(t, kind, time.Second)
				inner := func(w *Waiter) { w.Owner, w.Watch, w.Write = 7, false, true }
				b.ask(inner)
				b.run(10 * time.Millisecond)
				b.answer = ills[illName]
				u := b.ask(func(w *Waiter) { inner(w); w.LeaseTime, w.Try = 2*b.cfg.LeaseTime, true })
				b.run(10 * time.Millisecond)
				if u.out == nil || u.out.Why == Granted {
					t.Errorf("it is told %+v", u.out)
				}
			})
		}
	}
}
