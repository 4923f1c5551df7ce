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

// age has a tenure confirmed so late that it has to ask before it is handed on.
func (a *process) age() { a.world.after(a.cfg.HandoffTime) }

// invariant: handoff-only-while-fresh
func TestHandoff(t *testing.T) {
	playWorld(t, "within HandoffTime costs no network, and keeps the tenure and its deadline", func(w *world) {
		a, holder, next := heldBy(w, 1)
		w.after(a.cfg.HandoffTime - 1)
		holder.unlock()
		holder.released.want(Granted)
		next[0].wantAnswer(Granted)
		a.silent()
		w.want(next[0].hold.Tenure == holder.hold.Tenure, "the same tenure")
		w.want(next[0].hold.Deadline() == holder.hold.Deadline(), "the same deadline")
		w.want(next[0].handedOn && !holder.handedOn, "only the second to be handed on")
	})
	playWorld(t, "after HandoffTime asks first", func(w *world) {
		a, holder, next := heldBy(w, 1)
		a.age()
		holder.unlock()
		holder.released.want(Granted)
		next[0].wantWaiting()
		a.expect(Confirm).answer()
		next[0].wantAnswer(Granted)
		w.want(next[0].hold.Tenure == holder.hold.Tenure, "the same tenure")
	})
	playWorld(t, "finds out so that the tenure is gone", func(w *world) {
		w.lossy = true
		a, holder, next := heldBy(w, 1)
		a.age()
		holder.unlock()
		w.redis.free(stock, w.redis.owner(stock))
		a.expect(Confirm).answer()
		next[0].wantWaiting()
		w.want(a.expect(Acquire).ID != holder.hold.Tenure, "a fresh tenure")
	})
	playWorld(t, "is not done when a question ahead finds the tenure gone: the holder is told", func(w *world) {
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
	})
}

// Invariant: an answer that says nothing is not followed by another command at once. A confirmation ahead of time that is
// not sent makes the tenure doubtful, and a doubtful tenure waits for its renewal: the loop answers commands for a link that
// is down at once, and would never come to an end of its turn.
// invariant: loop-never-waits
func TestConfirmationInVainIsNotRepeatedAtOnce(t *testing.T) {
	for name, inVain := range map[string]func(*inFlightCommand){
		"not sent":       (*inFlightCommand).notSent,
		"no answer":      (*inFlightCommand).lose,
		"passing words":  (*inFlightCommand).again,
		"refused writes": func(c *inFlightCommand) { c.fail(scripts.NoReplicas) },
		"replica":        func(c *inFlightCommand) { c.fail(scripts.ReadOnly) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, holder, next := heldBy(w, 2*aheadAfter)
			for _, w := range next[:aheadAfter] {
				holder.unlock()
				w.wantAnswer(Granted)
				holder = w
			}
			w.pass(a.cfg.HandoffTime / 2)
			holder.unlock()
			inVain(a.expect(Confirm))
			a.silent()
			at := a.entries[stock].Machine.NextAlarm()
			w.want(at >= a.now()+5*time.Millisecond, "to be woken after a pause, not in %v", at-a.now())
		})
	}
}
