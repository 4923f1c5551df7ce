package gate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

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
