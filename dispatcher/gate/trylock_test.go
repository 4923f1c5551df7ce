package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// TestTryLock: it asks once, waits for nobody and takes no handoff.
// invariant: trylock-takes-no-handoff
func TestTryLock(t *testing.T) {
	playAlone(t, "whose grant comes too late for it leaves the name to those who wait", func(w *world, a *process) {
		once, waits := a.tryLock(), a.lock()
		once.cancel()
		a.expect(Acquire).answer()
		waits.wantAnswer(Granted)
	})
	playWorld(t, "is not kept waiting by a pause", func(w *world) {
		a, c := listeningTo(w)
		c.cancel() // the subscription lingers, the pause of the refused goes on
		a.expect(Release).answer()
		w.redis.free(stock, "java:1")
		once := a.tryLock()
		a.expect(Acquire).answer()
		once.wantAnswer(Granted)
	})
	playWorld(t, "waits for the release on its way", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		holder.unlock()
		c := a.tryLock()
		a.expect(Release).answer()
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
	for name, end := range map[string]struct {
		fail          func(*inFlightCommand)
		asked, before Why // when it was the question; when it was the release before it
	}{
		"not sent":              {(*inFlightCommand).notSent, Down, Down},
		"lost":                  {(*inFlightCommand).lose, Doubtful, Down},
		"answered BUSY":         {(*inFlightCommand).again, Refused, Refused},
		"denied":                {(*inFlightCommand).denied, Refused, Refused},
		"answered by a replica": {func(c *inFlightCommand) { c.fail(scripts.ReadOnly) }, Refused, Refused},
	} {
		playAlone(t, "hears of a question that was "+name, func(w *world, a *process) {
			c := a.tryLock()
			end.fail(a.expect(Acquire))
			c.wantAnswer(end.asked)
		})
		playWorld(t, "hears of a release before it that was "+name, func(w *world) {
			a, holder, _ := heldBy(w, 0)
			holder.unlock()
			c := a.tryLock()
			end.fail(a.expect(Release))
			c.wantAnswer(end.before)
		})
	}
	playAlone(t, "is not let in by a handoff, but by the next answer about the name", func(w *world, a *process) {
		once, waits := a.tryLock(), a.lock()
		a.expect(Acquire).answer()
		once.wantAnswer(Granted)
		late := a.tryLock()
		late.wantAnswer(Taken)
		once.unlock()
		waits.wantAnswer(Granted)
	})
	playAlone(t, "with an owner hears that the tenure it needed more of has ended", func(w *world, a *process) {
		outer := a.ask(stock, wants{owner: 7, lease: 100 * time.Millisecond})
		a.expect(Acquire).answer()
		inner := a.ask(stock, wants{owner: 7, lease: time.Second, try: true})
		outer.unlock()
		a.expect(Renew).answer()
		a.settleAll()
		w.want(inner.answered, "an answer")
	})
}
