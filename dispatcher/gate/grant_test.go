package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// invariant: released-owner-is-dead
func TestGrant(t *testing.T) {
	playAlone(t, "that is read after its own deadline is not handed out", func(w *world, a *process) {
		c := a.lock()
		ask := a.expect(Acquire)
		ask.run()
		w.pass(990 * time.Millisecond)
		ask.answer()
		c.wantWaiting()
		w.want(a.expect(Release).ID == ask.ID, "that tenure to be released")
		a.expect(Release).answer()
		a.silent() // it would be too late again at once
		w.want(a.await(Acquire).ID != ask.ID, "a fresh one to be asked for")
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
	playAlone(t, "a key of another kind is told as such", func(w *world, a *process) {
		c := a.lock()
		a.expect(Acquire).fail(17)
		c.wantAnswer(Foreign)
	})
	playAlone(t, "a fault that passes keeps those waiting who wait", func(w *world, a *process) {
		c := a.lock()
		a.expect(Acquire).again()
		for _, f := range []scripts.Fault{scripts.ReadOnly, scripts.OutOfMem, scripts.Misconf, scripts.NoReplicas, scripts.Moving} {
			a.await(Acquire).fail(f)
			c.wantWaiting()
		}
		a.await(Acquire).answer()
		c.wantAnswer(Granted)
	})
	playAlone(t, "with the link down waits for the link", func(w *world, a *process) {
		c := a.lock()
		a.expect(Acquire).notSent()
		w.after(100 * time.Millisecond)
		a.silent()
		a.linkUp()
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
}
