package gate

import (
	"testing"
	"time"
)

func TestForce(t *testing.T) {
	playWorld(t, "of our own on its way out is told that it went by itself", func(w *world) {
		a, holder, _ := heldBy(w, 0)
		holder.unlock()
		forced := a.force(stock)
		a.expect(Release).answer()
		a.expect(Release).answer()
		forced.want(Lost)
	})
	playWorld(t, "of a ghost is told what became of it, and the ghost is released once more in its time", func(w *world) {
		a, c, ask := uncertain(w, false)
		w.after(retryPause)
		a.expect(Acquire).answer()
		c.unlock()
		a.expect(Release).answer()
		w.after(100 * time.Millisecond)
		ask.run()
		forced := a.force(stock)
		a.expect(Release).answer()
		forced.want(Granted)
		w.after(LateWindow + time.Second)
		a.expect(Release).answer()
	})
	playAlone(t, "comes before the next question", func(w *world, a *process) {
		w.redis.take(stock, "java:1", time.Minute)
		forced := a.force(stock)
		c := a.lock()
		a.expect(Release).answer()
		forced.want(Granted)
		a.expect(Acquire).answer()
		c.wantAnswer(Granted)
	})
}
