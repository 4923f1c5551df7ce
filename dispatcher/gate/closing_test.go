package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// phases bring a fresh process, with one holder or none and one caller waiting, into everything a machine can be at.
var phases = map[string]func(w *world, a *process){
	"asked": func(w *world, a *process) { a.lock() },
	"asked, the grant on its way": func(w *world, a *process) {
		a.lock()
		a.expect(Acquire).run()
	},
	"asked, the answer lost": func(w *world, a *process) {
		a.lock()
		a.expect(Acquire).run()
		a.outbox[0].lose()
	},
	"asked, the link down": func(w *world, a *process) {
		a.lock()
		a.expect(Acquire).notSent()
	},
	"asleep": func(w *world, a *process) {
		w.redis.take(stock, "java:1", 10*time.Second)
		a.lock()
		a.expect(Acquire).answer()
		a.subscribe()
		a.expect(Acquire).answer()
	},
	"held": func(w *world, a *process) {
		a.lock()
		a.expect(Acquire).answer()
		a.lock()
	},
	"held, being renewed": func(w *world, a *process) {
		a.lock()
		a.expect(Acquire).answer()
		a.lock()
		w.after(a.cfg.LeaseTime / 3)
		a.expect(Renew)
	},
	"held, a re-entry waiting for a renewal": func(w *world, a *process) {
		a.ask(stock, wants{owner: 7, lease: time.Second})
		a.expect(Acquire).answer()
		a.ask(stock, wants{owner: 7})
		a.expect(Renew)
	},
	"being confirmed": func(w *world, a *process) {
		holder := a.lock()
		a.expect(Acquire).answer()
		a.lock()
		a.age()
		holder.unlock()
		a.expect(Confirm)
	},
	"being released": func(w *world, a *process) {
		holder := a.lock()
		a.expect(Acquire).answer()
		holder.unlock()
		a.lock()
		a.expect(Release)
	},
	"being released, the answer lost": func(w *world, a *process) {
		holder := a.lock()
		a.expect(Acquire).answer()
		holder.unlock()
		a.lock()
		a.expect(Release).lose()
	},
	"haunted": func(w *world, a *process) {
		a.lock()
		a.expect(Acquire).lose()
		w.after(retryPause)
		a.expect(Acquire).answer()
		a.callers[0].unlock()
		a.expect(Release).answer()
		w.redis.take(stock, "java:1", 10*time.Second)
		a.lock()
		a.expect(Acquire).answer()
	},
}

func TestClose(t *testing.T) {
	for phase, enter := range phases {
		playAlone(t, phase+": all are answered and all holds ended at once, then all is freed", func(w *world, a *process) {
			enter(w, a)
			a.close()
			for _, c := range a.callers {
				w.want(c.answered || c.gone, "%v to be answered", c)
				switch {
				case c.out.Why == Granted && c.released == nil:
					c.wantEnd(Closed)
				case c.out.Why != Granted:
					c.wantAnswer(Closed)
				}
			}
			began := w.now
			for len(a.entries) > 0 {
				w.pass(time.Millisecond)
				a.settleAll()
				if at, _, _ := w.nextAlarm(); at != Never {
					w.after(max(at-w.now, 0))
				}
			}
			w.want(w.now-began < LateWindow+time.Second, "to be done within what the loop allows; it took %v", w.now-began)
			if owner := w.redis.owner(stock); owner != "java:1" {
				w.want(owner == "", "a free name; it is %s's", owner)
			}
			w.redis.unsubscribe(stockChannel, a) // the connection closes
			w.redis.unsubscribe(scripts.Inbox(scripts.LockChannel(stock), "A"), a)
			a.wishes = nil
			w.redis.free(stock, "java:1")
		})
	}
}

func TestDrain(t *testing.T) {
	for phase, enter := range phases {
		playAlone(t, phase+": who waits is turned away, who holds goes on", func(w *world, a *process) {
			enter(w, a)
			var holding []*caller
			for _, c := range a.callers {
				if c.holds() {
					holding = append(holding, c)
				}
			}
			a.drain()
			for _, c := range a.callers {
				if c.out.Why != Granted {
					c.wantAnswer(Closed)
				}
			}
			for _, c := range holding {
				c.wantHolding()
			}
			w.redis.free(stock, "java:1")
		})
	}
}

// TestRest is that every phase comes to rest by itself when all goes well from there.
func TestRest(t *testing.T) {
	for phase, enter := range phases {
		t.Run(phase, func(t *testing.T) {
			w := newWorld(t)
			a := w.newProcess("A")
			enter(w, a)
			w.redis.free(stock, "java:1")
			w.settle()
			for _, c := range a.callers {
				c.wantAnswer(Granted)
			}
		})
		playAlone(t, phase+", when everybody goes away", func(w *world, a *process) {
			enter(w, a)
			for _, c := range a.callers {
				if !c.answered {
					c.cancel()
				}
			}
			w.redis.free(stock, "java:1")
		})
		playAlone(t, phase+", when the link breaks and comes back", func(w *world, a *process) {
			enter(w, a)
			for len(a.outbox) > 0 {
				a.outbox[0].lose()
			}
			w.after(50 * time.Millisecond)
			for i := 0; len(a.outbox) > 0 && i < 10; i++ {
				a.outbox[0].notSent()
			}
			w.redis.free(stock, "java:1")
			w.after(50 * time.Millisecond)
			a.linkUp()
		})
		playAlone(t, phase+", when the link stays down for longer than any lease", func(w *world, a *process) {
			enter(w, a)
			for len(a.outbox) > 0 {
				a.outbox[0].lose()
			}
			for range 400 {
				w.after(50 * time.Millisecond)
				for i := 0; len(a.outbox) > 0; i++ {
					w.want(i < 10, "an end to questions that leave at once while the link is down")
					a.outbox[0].notSent()
				}
			}
			for _, c := range a.callers {
				w.want(!c.holds(), "no hold to outlive its lease")
			}
			w.redis.free(stock, "java:1")
			a.linkUp()
		})
	}
}
