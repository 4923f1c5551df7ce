package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// TestSwap: a tenure with another lease is another owner.
// invariant: handoff-keeps-lease
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
		w.want(next.hold.Tenure == swap.Args.Swap().Fresh, "the fresh tenure")
		w.want(next.hold.Deadline() == swap.Sent+95*time.Millisecond, "95 ms from when the swap left; it is %v", next.hold.Deadline()-swap.Sent)
		w.settle()
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
		w.settle()
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
		w.settle()
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
			w.want(a.expect(Release).ID == swap.Args.Swap().Fresh, "then the fresh one")
			a.expect(Release).answer()
			w.want(w.redis.owner(stock) == "", "a free name")
			a.expect(Acquire).answer()
			next.wantAnswer(Granted)
			w.settle()
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
		w.settle()
		next.wantAnswer(Granted)
	})
	t.Run("that is refused frees the tenure", func(t *testing.T) {
		w := newWorld(t)
		a, holder, _ := heldBy(w, 0)
		next := a.ask(stock, wants{lease: 100 * time.Millisecond})
		holder.unlock()
		a.expect(Swap).fail(scripts.OutOfMem)
		a.expect(Release).answer()
		a.expect(Acquire).fail(scripts.NoPerm)
		next.wantAnswer(Refused)
		w.settle()
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
		w.settle()
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
		w.settle()
	})
}
