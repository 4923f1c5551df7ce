package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// invariant: reentry-needs-living-hold
func TestReentry(t *testing.T) {
	playAlone(t, "by the owner of a living hold costs no network, and is counted", func(w *world, a *process) {
		outer := a.ask(stock, wants{owner: 7})
		a.expect(Acquire).answer()
		inner := a.ask(stock, wants{owner: 7})
		inner.wantAnswer(Granted)
		a.silent()
		w.want(inner.hold.Tenure == outer.hold.Tenure && inner.hold.Count() == 2 && outer.hold.Count() == 2, "one tenure, count 2")
		w.want(inner.reentry && !outer.reentry, "only the inner one to be a re-entry")
		outer.unlock()
		outer.released.want(Granted)
		a.silent()
		w.want(inner.holds() && inner.hold.Count() == 1, "the inner one to hold on, count 1")
		inner.unlock()
		a.expect(Release).answer()
		inner.released.want(Granted)
	})
	playAlone(t, "by another owner, or by none, waits", func(w *world, a *process) {
		a.ask(stock, wants{owner: 7})
		a.expect(Acquire).answer()
		for _, want := range []wants{{owner: 8}, {}} {
			a.ask(stock, want).wantWaiting()
		}
	})
	playAlone(t, "by an owner whose hold has ended waits like anybody", func(w *world, a *process) {
		outer := a.ask(stock, wants{owner: 7})
		a.expect(Acquire).answer()
		outer.unlock()
		a.ask(stock, wants{owner: 7}).wantWaiting()
	})
	playAlone(t, "that needs more of a watched lease does not shorten what the watchdog renews", func(w *world, a *process) {
		outer := a.ask(stock, wants{owner: 7})
		a.expect(Acquire).answer()
		w.after(a.cfg.LeaseTime / 3)
		for w.now < 1800*time.Millisecond { // Redis is busy: the deadline comes near
			a.await(Renew).again()
		}
		inner := a.ask(stock, wants{owner: 7, lease: 300 * time.Millisecond})
		a.await(Renew).answer()
		inner.wantAnswer(Granted)
		w.after(a.cfg.LeaseTime / 3)
		a.expect(Renew).answer()
		w.want(outer.holds(), "the outer one to hold on")
	})
	playAlone(t, "that was not granted by a renewal that said nothing is granted by the next", func(w *world, a *process) {
		a.ask(stock, wants{owner: 7, lease: 100 * time.Millisecond})
		a.expect(Acquire).answer()
		inner := a.ask(stock, wants{owner: 7, lease: 500 * time.Millisecond})
		a.expect(Renew).fail(scripts.ReadOnly)
		inner.wantWaiting()
		w.after(10 * time.Millisecond)
		a.expect(Renew).answer()
		inner.wantAnswer(Granted)
	})
	t.Run("that waits for a tenure which ends is asked for afresh", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		outer := a.ask(stock, wants{owner: 7, lease: 100 * time.Millisecond})
		a.expect(Acquire).answer()
		inner := a.ask(stock, wants{owner: 7, lease: 500 * time.Millisecond})
		renewal := a.expect(Renew)
		outer.unlock()
		renewal.answer()
		inner.wantWaiting()
		w.settle()
		inner.wantAnswer(Granted)
	})
	t.Run("that waits when its tenure is handed on waits in the queue", func(t *testing.T) {
		w := newWorld(t)
		a := w.newProcess("A")
		outer, next := a.ask(stock, wants{owner: 7}), a.lock()
		a.expect(Acquire).answer()
		inner := a.ask(stock, wants{owner: 7, lease: time.Minute})
		once := a.ask(stock, wants{owner: 7, lease: time.Minute, try: true})
		renewal := a.expect(Renew)
		outer.unlock()
		next.wantAnswer(Granted)
		renewal.answer()
		inner.wantWaiting()
		once.wantAnswer(Taken)
		w.settle()
		inner.wantAnswer(Granted)
	})
	playWorld(t, "a handoff to an owner settles all it has queued", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		first, other, second := a.ask(stock, wants{owner: 7}), a.lock(), a.ask(stock, wants{owner: 7})
		holder.unlock()
		first.wantAnswer(Granted)
		second.wantAnswer(Granted)
		other.wantWaiting()
	})
	playWorld(t, "a handoff after a confirmation renews at once for what its owner has queued besides", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		outer, inner := a.ask(stock, wants{owner: 7}), a.ask(stock, wants{owner: 7, lease: 3 * time.Second})
		a.age()
		holder.unlock()
		a.expect(Confirm).answer()
		outer.wantAnswer(Granted)
		a.expect(Renew).answer()
		inner.wantAnswer(Granted)
	})
	playAlone(t, "a grant to an owner settles all it has queued", func(w *world, a *process) {
		once := a.ask(stock, wants{owner: 7, try: true})
		onceMore := a.ask(stock, wants{owner: 7, try: true})
		stranger := a.ask(stock, wants{try: true})
		first, other, second := a.ask(stock, wants{owner: 7}), a.lock(), a.ask(stock, wants{owner: 7})
		a.expect(Acquire).answer()
		for _, c := range []*caller{once, onceMore, first, second} {
			c.wantAnswer(Granted)
		}
		stranger.wantAnswer(Taken)
		other.wantWaiting()
		w.want(once.hold.Count() == 4, "count 4; it is %d", once.hold.Count())
	})
}

// invariant: hold-within-tenure
func TestExtend(t *testing.T) {
	playAlone(t, "is not served by a renewal that left before it was asked", func(w *world, a *process) {
		c := a.ask(stock, wants{lease: 100 * time.Millisecond})
		a.expect(Acquire).answer()
		early := c.extend(time.Second)
		a.expect(Renew).send()
		w.after(30 * time.Millisecond)
		extended := c.extend(time.Second)
		asked := a.now()
		a.expect(Renew).answer()
		early.want(Granted)
		a.settleAll()
		extended.want(Granted)
		w.want(c.hold.Deadline() >= asked+990*time.Millisecond, "a second from now; it is %v", c.hold.Deadline()-asked)
	})
	playAlone(t, "goes on while the engine drains", func(w *world, a *process) {
		c := a.ask(stock, wants{lease: 100 * time.Millisecond})
		a.expect(Acquire).answer()
		extended := c.extend(time.Second)
		a.drain()
		a.expect(Renew).answer()
		extended.want(Granted)
	})
}

// A re-entry and an adoption wait for no caller of this process, so no bound on these is for them.
func TestWhoQueues(t *testing.T) {
	playAlone(t, "behind a hold", func(w *world, a *process) {
		c, java := a.ask(stock, wants{owner: 7}), "java:1"
		a.expect(Acquire).answer()
		for waiter, want := range map[*Waiter]bool{{}: true, {Owner: 8}: true, {Owner: 7}: false, {Adopts: &java}: false} {
			w.want(c.hold.Entry.Queues(waiter) == want, "%+v to queue: %v", waiter, want)
		}
		w.want(NewEntry("pool", SemaphoreKind, a.cfg).Queues(&Waiter{Adopts: &java}), "all callers of a semaphore to queue")
	})
}
