package gate

import (
	"testing"
	"time"
)

// TestCancel takes the first, the middle, the last or the only waiter away in every phase of the machine. Those
// who stay are served in their order, and nothing is left in the end.
// invariant: answered-once
func TestCancel(t *testing.T) {
	phases := map[string]func(w *world, a *process){
		"free, asleep": func(w *world, a *process) {
			a.expect(Acquire).answer()
			a.subscribe()
			a.expect(Acquire).answer()
		},
		"free, while it waits to listen": func(w *world, a *process) { a.expect(Acquire).answer() },
		"asked":                          func(w *world, a *process) {},
		"asked, and the answer was lost": func(w *world, a *process) { a.expect(Acquire).lose() },
		"asked, the grant on its way": func(w *world, a *process) {
			w.redis.free(stock, "java:1")
			a.expect(Acquire).run()
		},
		"ours, held by another": func(w *world, a *process) {},
		"ours, being confirmed": func(w *world, a *process) {
			w.after(2 * a.cfg.HandoffTime)
			a.callers[0].unlock()
			a.expect(Confirm)
		},
		"ours, being renewed": func(w *world, a *process) {
			w.after(a.cfg.LeaseTime / 3)
			a.expect(Renew)
		},
		"dead, being released": func(w *world, a *process) {
			w.after(a.cfg.LeaseTime) // nobody renews
			a.expect(Renew).answer()
			a.expect(Release)
		},
		"dead, the answer to its release lost": func(w *world, a *process) {
			w.after(a.cfg.LeaseTime)
			a.expect(Renew).lose()
			a.expect(Release).lose()
		},
	}
	for phase, enter := range phases {
		held := phase[:4] == "ours" || phase[:4] == "dead"
		for who, leaves := range map[string][]int{"the first": {0}, "the middle": {1}, "the last": {2}, "all": {2, 0, 1}} {
			t.Run(who+", "+phase, func(t *testing.T) {
				w := newWorld(t)
				a := w.newProcess("A")
				if held {
					a.lock()
					a.expect(Acquire).answer()
				} else {
					w.redis.take(stock, "java:1", time.Minute)
				}
				waiters := []*caller{a.lock(), a.lock(), a.lock()}
				enter(w, a)
				for _, i := range leaves {
					waiters[i].cancel()
				}
				w.redis.free(stock, "java:1")
				w.settle()
				var last uint32
				for _, c := range waiters {
					if !c.gone {
						c.wantAnswer(Granted)
						w.want(c.hold.since >= last, "the order of arrival")
						last = c.hold.since
					}
				}
			})
		}
	}
}
