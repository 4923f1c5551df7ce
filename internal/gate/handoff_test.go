package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// heldBy is a process with a hold, just granted, and so many waiters.
func heldBy(w *world, waiters int) (a *process, holder *caller, waiting []*caller) {
	a = w.newProcess("A")
	holder = a.lock()
	for range waiters {
		waiting = append(waiting, a.lock())
	}
	a.expect(Acquire).answer()
	holder.wantAnswer(Granted)
	return a, holder, waiting
}

// passOn has a tenure confirmed so late that it has to ask before it is handed on.
func (a *process) age() { a.world.after(a.cfg.HandoffTime) }

func TestHandoff(t *testing.T) {
	t.Run("within HandoffTime costs no network, and keeps the tenure and its deadline", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.HandoffTime - 1)
		holder.unlock()
		holder.released.want(Granted)
		next[0].wantAnswer(Granted)
		a.silent()
		w.want(next[0].hold.Tenure == holder.hold.Tenure, "the same tenure")
		w.want(next[0].hold.Deadline() == holder.hold.Deadline(), "the same deadline")
		w.calm()
	})
	t.Run("after HandoffTime asks first", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		a.age()
		holder.unlock()
		holder.released.want(Granted)
		next[0].wantWaiting()
		a.expect(Confirm).answer()
		next[0].wantAnswer(Granted)
		w.want(next[0].hold.Tenure == holder.hold.Tenure, "the same tenure")
		w.calm()
	})
	t.Run("finds out so that the tenure is gone", func(t *testing.T) {
		w := newWorld(t)
		w.lossy = true
		a, holder, next := heldBy(w, 1)
		a.age()
		holder.unlock()
		w.redis.free(stock, w.redis.owner(stock))
		a.expect(Confirm).answer()
		next[0].wantWaiting()
		w.want(a.expect(Acquire).ID != holder.hold.Tenure, "a fresh tenure")
		w.calm()
	})
	t.Run("is off when HandoffTime is", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		a.cfg.HandoffTime = 0
		holder.unlock()
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
		w.calm()
	})
	t.Run("asks ahead when a name changes hands fast", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 9)
		for _, c := range next[:aheadAfter] {
			w.after(a.cfg.HandoffTime / 8)
			holder.unlock()
			c.wantAnswer(Granted)
			holder = c
		}
		a.expect(Confirm).answer()
		w.want(holder.holds(), "the hold to go on while it was asked")
		w.calm()
	})
	t.Run("is not done when a question ahead finds the tenure gone: the holder is told", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 9)
		for _, c := range next[:aheadAfter] {
			w.after(a.cfg.HandoffTime / 8)
			holder.unlock()
			holder = c
		}
		w.lossy = true
		w.redis.free(stock, w.redis.owner(stock))
		a.expect(Confirm).answer()
		holder.wantEnd(Lost)
		w.calm()
	})
}

// TestDoubt is rule 8: nothing is handed on while it is unknown whether the key is still there.
func TestDoubt(t *testing.T) {
	for name, doubt := range map[string]func(a *process){
		"a message that is not our own": func(a *process) { a.heard[stock] = a.cells[stock]; a.hear(stock); a.listen() },
		"a changed key":                 func(a *process) { a.suspect() },
		"a reconnect":                   func(a *process) { a.cfg.Epoch++; a.linkUp() },
	} {
		t.Run(name+" stops handing on until a renewal is answered", func(t *testing.T) {
			w := newWorld(t)
			a, holder, next := heldBy(w, 2)
			doubt(a)
			renewal := a.expect(Renew)
			holder.unlock()
			next[0].wantWaiting()
			renewal.answer()
			next[0].wantAnswer(Granted)
			next[0].unlock()
			next[1].wantAnswer(Granted) // without network: it is fresh again
			a.silent()
			w.calm()
		})
		t.Run(name+" finds a key that is gone", func(t *testing.T) {
			w := newWorld(t)
			w.lossy = true
			a, holder, next := heldBy(w, 1)
			w.redis.free(stock, w.redis.owner(stock))
			doubt(a)
			holder.wantHolding()
			a.expect(Renew).answer()
			holder.wantEnd(Lost)
			next[0].wantWaiting()
			a.expect(Acquire).answer()
			next[0].wantAnswer(Granted)
			w.calm()
		})
		t.Run(name+" is not settled by an answer to what left before", func(t *testing.T) {
			w := newWorld(t)
			w.lossy = true
			a, holder, next := heldBy(w, 1)
			w.after(a.cfg.Lease / 3)
			early := a.expect(Renew)
			early.run()
			w.pass(time.Millisecond)
			w.redis.free(stock, w.redis.owner(stock))
			doubt(a)
			w.pass(time.Millisecond)
			early.answer()
			holder.unlock()
			next[0].wantWaiting()
			a.expect(Renew).answer()
			next[0].wantWaiting()
			w.calm()
		})
	}
	t.Run("a broken link stops handing on at once", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		a.cfg.Epoch++
		holder.unlock()
		next[0].wantWaiting()
		a.expect(Confirm).answer()
		next[0].wantAnswer(Granted)
		w.calm()
	})
	t.Run("an answer that left before the link broke proves nothing about after", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.Lease / 3)
		renewal := a.expect(Renew)
		renewal.run()
		a.cfg.Epoch++
		renewal.answer()
		holder.unlock()
		next[0].wantWaiting()
		w.calm()
	})
	t.Run("an unanswered renewal stops handing on", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.Lease / 3)
		a.expect(Renew).again()
		holder.unlock()
		next[0].wantWaiting()
		a.expect(Confirm).answer()
		next[0].wantAnswer(Granted)
		w.calm()
	})
	t.Run("an unanswered confirmation frees the tenure", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 1)
		a.age()
		holder.unlock()
		a.expect(Confirm).lose()
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
		w.calm()
	})
	t.Run("a renewal that was unanswered is repeated until the deadline", func(t *testing.T) {
		w := newWorld(t)
		a, holder, _ := heldBy(w, 0)
		w.after(a.cfg.Lease / 3)
		for holder.holds() {
			a.expect(Renew).fail(scripts.ReadOnly)
			w.after(a.cfg.Lease / 50)
		}
		holder.wantEnd(Lost)
		w.calm()
	})
}

func (c *caller) wantHolding() { c.from.world.want(c.holds(), "%v to hold", c) }

// TestOthersListen is rule 9: who else listens makes us yield, and nobody listening proves nothing.
func TestOthersListen(t *testing.T) {
	t.Run("a confirmation that finds others is the last of its stint", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 2)
		b := w.newProcess("B")
		w.redis.subscribe(stock, b)
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		a.expect(Release).answer()
		a.silent() // it yields
		next[0].wantWaiting()
		w.after(minYield)
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
		w.redis.unsubscribe(stock, b)
		b.messages = nil
		w.calm()
	})
	t.Run("a message ends the yield", func(t *testing.T) {
		w := newWorld(t)
		a, _ := listeningTo(w)
		b := w.newProcess("B")
		w.redis.subscribe(stock, b)
		second := a.lock()
		a.cfg.RTT = 100 * time.Millisecond
		w.redis.free(stock, "java:1")
		a.listen()
		a.expect(Acquire).answer()
		a.age()
		a.callers[0].unlock()
		a.expect(Confirm).answer()
		a.expect(Release).answer()
		a.listen() // our own
		a.silent()
		w.redis.take(stock, "java:2", time.Second)
		w.redis.free(stock, "java:2")
		a.listen()
		a.expect(Acquire).answer()
		second.wantAnswer(Granted)
		w.redis.unsubscribe(stock, b)
		b.messages = nil
		w.calm()
	})
	t.Run("after yields that nobody takes there are none for a while", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 9)
		b := w.newProcess("B")
		w.redis.subscribe(stock, b)
		for _, c := range next[:yieldsInVain] {
			a.age()
			holder.unlock()
			a.expect(Confirm).answer()
			a.expect(Release).answer()
			a.silent()
			w.after(minYield << yieldsInVain)
			a.expect(Acquire).answer()
			c.wantAnswer(Granted)
			holder = c
		}
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		next[yieldsInVain].wantAnswer(Granted)
		w.redis.unsubscribe(stock, b)
		b.messages = nil
		w.calm()
	})
	t.Run("a stint has an end even when nobody is heard", func(t *testing.T) {
		w := newWorld(t)
		a, holder, next := heldBy(w, 2*stintLimit)
		began := w.now
		for _, c := range next {
			a.age()
			holder.unlock()
			if a.outbox[0].Op == Release {
				break
			}
			a.expect(Confirm).answer()
			c.wantAnswer(Granted)
			holder = c
		}
		a.expect(Release)
		stint := w.now - began
		w.want(stint >= stintLimit*a.cfg.HandoffTime && stint <= (stintLimit+2)*a.cfg.HandoffTime, "a stint of %v; it was %v", stintLimit*a.cfg.HandoffTime, stint)
		w.calm()
	})
	t.Run("and swaps do not begin it anew", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		holder := a.lock()
		a.expect(Acquire).answer()
		began := w.now
		for i := range 4 * stintLimit {
			next := a.ask(stock, wants{watch: time.Second + time.Duration(i+1)*time.Millisecond})
			a.age()
			holder.unlock()
			if a.outbox[0].Op == Release {
				break
			}
			a.expect(Swap).answer()
			next.wantAnswer(Granted)
			holder = next
		}
		a.expect(Release)
		stint := w.now - began
		w.want(stint <= (stintLimit+2)*a.cfg.HandoffTime, "a stint of %v; it was %v", stintLimit*a.cfg.HandoffTime, stint)
		w.calm()
	})
}

// TestSwap is rule 1: a tenure with another lease is another owner.
func TestSwap(t *testing.T) {
	t.Run("passes a tenure on under a fresh owner and another lease", func(t *testing.T) {
		w := newWorld(t)
		a, holder, _ := heldBy(w, 0)
		next := a.ask(stock, wants{lease: 100 * time.Millisecond})
		holder.unlock()
		holder.released.want(Granted)
		swap := a.expect(Swap)
		w.pass(3 * time.Millisecond)
		swap.answer()
		next.wantAnswer(Granted)
		w.want(next.hold.Tenure == swap.Next, "the fresh tenure")
		w.want(next.hold.Deadline() == swap.Sent+95*time.Millisecond, "95 ms from when the swap left; it is %v", next.hold.Deadline()-swap.Sent)
		w.calm()
	})
	t.Run("a fixed lease is never handed on as it is", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		first, second := a.ask(stock, wants{lease: time.Second}), a.ask(stock, wants{lease: time.Second})
		a.expect(Acquire).answer()
		first.unlock()
		second.wantWaiting()
		a.expect(Swap).answer()
		second.wantAnswer(Granted)
		w.calm()
	})
	t.Run("while it is on its way nobody gets the old tenure", func(t *testing.T) {
		w := newWorld(t)
		a, holder, _ := heldBy(w, 0)
		other := a.ask(stock, wants{lease: 100 * time.Millisecond})
		fits, last := a.lock(), a.ask(stock, wants{lease: 100 * time.Millisecond})
		holder.unlock()
		swap := a.expect(Swap)
		other.cancel()
		fits.wantWaiting()
		swap.answer()
		a.expect(Swap).answer()
		fits.wantAnswer(Granted)
		last.wantWaiting()
		w.calm()
	})
	for _, ran := range []bool{true, false} {
		t.Run("whose answer is lost leaves neither owner behind", func(t *testing.T) {
			w := newWorld(t)
			a, holder, _ := heldBy(w, 0)
			next := a.ask(stock, wants{lease: 100 * time.Millisecond})
			holder.unlock()
			swap := a.expect(Swap)
			if ran {
				swap.run()
			}
			swap.lose()
			w.want(a.expect(Release).ID == swap.ID, "the old owner is released first")
			a.expect(Release).answer()
			if !ran {
				swap.run() // late: it finds nothing to swap
			}
			w.want(a.expect(Release).ID == swap.Next, "then the fresh one")
			a.expect(Release).answer()
			w.want(w.redis.owner(stock) == "", "a free name")
			a.expect(Acquire).answer()
			next.wantAnswer(Granted)
			w.calm()
		})
	}
	t.Run("of a tenure that is gone asks afresh", func(t *testing.T) {
		w := newWorld(t)
		w.lossy = true
		a, holder, _ := heldBy(w, 0)
		next := a.ask(stock, wants{lease: 100 * time.Millisecond})
		holder.unlock()
		w.redis.free(stock, w.redis.owner(stock))
		a.expect(Swap).answer()
		next.wantWaiting()
		w.calm()
		next.wantAnswer(Granted)
	})
	t.Run("that is refused frees the tenure", func(t *testing.T) {
		w := newWorld(t)
		a, holder, _ := heldBy(w, 0)
		next := a.ask(stock, wants{lease: 100 * time.Millisecond})
		holder.unlock()
		a.expect(Swap).fail(scripts.OutOfMem)
		a.expect(Release).answer()
		a.expect(Acquire).fail(scripts.OutOfMem)
		next.wantAnswer(Refused)
		w.calm()
	})
	t.Run("that is not wanted any more is undone", func(t *testing.T) {
		w := newWorld(t)
		a, holder, _ := heldBy(w, 0)
		next := a.ask(stock, wants{lease: 100 * time.Millisecond})
		holder.unlock()
		swap := a.expect(Swap)
		swap.run()
		next.cancel()
		swap.answer()
		w.calm()
	})
	t.Run("is not asked for while the tenure's own question may still run", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		a.cfg.Lease = time.Minute
		first := a.lock()
		late := a.expect(Acquire)
		late.lose()
		w.after(retryPause)
		a.expect(Acquire).answer()
		first.wantAnswer(Granted)
		next := a.ask(stock, wants{lease: 100 * time.Millisecond})
		first.unlock()
		for len(a.outbox) > 0 {
			a.outbox[0].answer()
		}
		next.wantAnswer(Granted)
		next.unlock()
		for len(a.outbox) > 0 {
			a.outbox[0].answer()
		}
		late.run() // nobody holds it: it takes the name for its tenure
		w.want(w.redis.owner(stock) != "", "a ghost")
		w.after(LateWindow + time.Second)
		for len(a.outbox) > 0 {
			a.outbox[0].answer()
		}
		w.want(w.redis.owner(stock) == "", "the ghost to be gone before its lease")
		w.calm()
	})
}
