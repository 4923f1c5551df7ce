package gate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

func TestAsking(t *testing.T) {
	playAlone(t, "what surely did nothing leaves nothing to release", func(w *world, a *process) {
		c := a.lock()
		a.expect(Acquire).fail(scripts.ReadOnly)
		c.cancel()
		w.after(10 * time.Second)
		a.silent()
	})
	playAlone(t, "each question is counted, also one that is repeated", func(w *world, a *process) {
		c := a.lock()
		a.expect(Acquire).lose()
		a.await(Acquire).answer()
		c.wantAnswer(Granted)
		w.want(a.cfg.Stats.Attempts.Load() == 2, "2 attempts; there are %d", a.cfg.Stats.Attempts.Load())
	})
	playWorld(t, "of a name at a node that does not serve it yet nobody tells", func(w *world) {
		heldBy(w, 0)
		b := w.newProcess("B")
		c := b.lock()
		asked := b.expect(Acquire)
		asked.Asking = true
		asked.answer()
		since := w.now
		b.await(Acquire)
		w.want(w.now-since <= time.Millisecond, "it asks again at once; it slept for %v", w.now-since)
		c.wantWaiting()
	})
	t.Run("a poller sleeps for half of its time at least, and never longer", func(t *testing.T) {
		_, m := settledGate()
		for id := range uint64(200) {
			m.lease.ID, m.ownRivals().spins = id, 3
			if got := m.ownRivals().spin(m.contest.queue.n, false, m.lease.ID); got <= 4*time.Millisecond || got > 8*time.Millisecond {
				t.Fatalf("tenure %d: it sleeps for %v, want more than %v and at most %v", id, got, 4*time.Millisecond, 8*time.Millisecond)
			}
		}
	})
}

// A release at a node that does not serve the name yet is heard by nobody. So those who wait for a name there ask again and again, and soon
// after somebody was granted something. The names of a fair lock lie apart there most of the time.
func TestNamesAreAskedForAtANodeThatDoesNotServeThem(t *testing.T) {
	for kind, name := range kindNames {
		if kind == FairKind {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := newBench(t, kind, 30*time.Second)
			b.cfg.PollCap = time.Minute
			ends, free := b.now+30*time.Second, false
			b.answer = func(c *Command) {
				well(c)
				switch c.Asking = true; {
				case free:
					if c.Op == GetCount {
						c.Reply = 0
					}
				case c.Op == Take:
					c.Reply = 0
				case Operations[c.Op].does == acquires || c.Op == PermitTake:
					c.Reply = scripts.Reply(-(ends - b.now).Milliseconds() - 2)
				}
			}
			u := b.ask(nil)
			b.run(10 * time.Second)
			if n, of := b.rate(b.now - 2*time.Second); n < 5 || n > 100 {
				t.Errorf("of a name that is held: %d times %v within a second, want 5 to 100", n, of)
			}
			free = true
			b.run(200 * time.Millisecond)
			if u.out == nil || u.out.Why != Granted {
				t.Errorf("the answer is %v", u.out)
			}
		})
	}
}

// Where a lock has arrived, its line may be at the other node still. So an owner id that had a place there keeps it, whether it gets the lock
// or no caller wants it any more. When the slot has moved, a release may give the lock to that place: then it is freed at once.
// invariant: released-owner-is-dead
func TestAPlaceThatStayedBehindIsGivenUp(t *testing.T) {
	const standing = 1 << 43
	for name, kind := range map[string]Kind{"a mutex": MutexKind, "a writer": RWKind, "a simple lock": SimpleKind} {
		for _, granted := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, granted: %t", name, granted), func(t *testing.T) {
				b := newBench(t, kind, 30*time.Second)
				place, arrived := uint64(0), false
				var released []uint64
				b.answer = func(c *Command) {
					c.Result, c.Asking = Answered, arrived
					switch does := Operations[c.Op].does; {
					case does == releases:
						released = append(released, c.ID)
						if c.Reply = 0; !granted {
							c.Reply = scripts.NotMine
						}
					case arrived && granted:
						c.Reply = 1
					case c.Args.Place().Code != 0:
						c.Reply, place = -2*standing-30_002, c.ID
					default:
						c.Reply = -30_002
					}
				}
				write := func(w *Waiter) { w.Write = true }
				inbox := scripts.Inbox(channels[kind]("stock"), "u")
				told := func() {
					b.step(func(m Machine) { m.Message(b.now, News{Channel: inbox, N: 1}, &b.fx) })
					b.run(100 * time.Millisecond)
				}
				u := b.ask(write)
				b.run(100 * time.Millisecond)
				b.step(func(m Machine) { m.Subscribed(b.now, inbox, "", &b.fx) })
				b.run(100 * time.Millisecond)
				arrived = true
				if granted {
					told()
					b.step(func(m Machine) { m.Unlock(b.now, &u.hold, nil, &b.fx) })
				} else {
					b.step(func(m Machine) { m.EndWait(b.now, &u.w, GaveUp, &b.fx) })
				}
				b.run(100 * time.Millisecond)
				if !slices.Equal(released, []uint64{place}) || place == 0 {
					t.Fatalf("released are %d, want the place %d", released, place)
				}
				left := place
				arrived, granted = false, false
				b.ask(write)
				b.run(100 * time.Millisecond)
				told()
				if !slices.Equal(released, []uint64{left, left}) {
					t.Errorf("released are %d, want the place %d a second time", released, left)
				}
			})
		}
	}
}

func TestLeaseEnd(t *testing.T) {
	for ttl, want := range map[time.Duration]Time{-1: Never, 0: 5, 7: 12} {
		if got := leaseEnd(5, ttl); got != want {
			t.Errorf("a lease of which %v is left ends at %v, want %v", ttl, got, want)
		}
	}
	for end, want := range map[Time]time.Duration{Never: -1, 5: 0, 4: 0, 7: 2} {
		if got := timeLeft(5, end); got != want {
			t.Errorf("of a lease that ends at %v there is %v left, want %v", end, got, want)
		}
	}
}

// Who gives something back waits for the link, who asks for a change does not.
func TestLastingChanges(t *testing.T) {
	for op := range Ops {
		want := op == Give || op == CountDown || op == PermitFree
		if got := (&Change{Op: op}).lasting(); got != want {
			t.Errorf("%v: lasting %t, want %t", op, got, want)
		}
	}
}

func TestJitterSpreads(t *testing.T) {
	const span = 400 * time.Millisecond
	var quarters [4]int
	for seed := range uint64(400) {
		j := jitter(seed, span)
		if j < 0 || j >= span {
			t.Fatalf("seed %d: %v is not between 0 and %v", seed, j, span)
		}
		quarters[j/(span/4)]++
	}
	for i, n := range quarters {
		if n < 60 {
			t.Errorf("quarter %d has %d of 400", i, n)
		}
	}
	if jitter(7, 0) != 0 || jitter(7, -1) != 0 {
		t.Error("no span has a jitter")
	}
}
