package gate

import (
	"testing"
	"time"
)

// TestDoubt: nothing is handed on while it is unknown whether the key is still there.
// invariant: handoff-only-while-fresh
func TestDoubt(t *testing.T) {
	for name, doubt := range map[string]func(a *process){
		"a message that is not our own": func(a *process) { a.heard[stockChannel] = a.entries[stock]; a.hear(stockChannel, "0"); a.listen() },
		"a changed key":                 func(a *process) { a.suspect() },
		"a reconnect":                   func(a *process) { a.cfg.Epoch++; a.linkUp() },
	} {
		playWorld(t, name+" stops handing on until a renewal is answered", func(w *world) {
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
		})
		playWorld(t, name+" finds a key that is gone", func(w *world) {
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
		})
		playWorld(t, name+" is not settled by an answer to what left before", func(w *world) {
			w.lossy = true
			a, holder, next := heldBy(w, 1)
			w.after(a.cfg.LeaseTime / 3)
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
		})
	}
	playWorld(t, "a broken link stops handing on at once", func(w *world) {
		a, holder, next := heldBy(w, 1)
		a.cfg.Epoch++
		holder.unlock()
		next[0].wantWaiting()
		a.expect(Confirm).answer()
		next[0].wantAnswer(Granted)
	})
	playWorld(t, "an answer that left before the link broke proves nothing about after", func(w *world) {
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.LeaseTime / 3)
		renewal := a.expect(Renew)
		renewal.run()
		a.cfg.Epoch++
		renewal.answer()
		holder.unlock()
		next[0].wantWaiting()
	})
	playWorld(t, "an unanswered renewal stops handing on", func(w *world) {
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.LeaseTime / 3)
		a.expect(Renew).again()
		holder.unlock()
		next[0].wantWaiting()
		a.expect(Confirm).answer()
		next[0].wantAnswer(Granted)
	})
	playWorld(t, "an unanswered confirmation frees the tenure", func(w *world) {
		a, holder, next := heldBy(w, 1)
		a.age()
		holder.unlock()
		a.expect(Confirm).lose()
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		next[0].wantAnswer(Granted)
	})
}

func (c *caller) wantHolding() { c.from.world.want(c.holds(), "%v to hold", c) }
