package gate

import "testing"

// TestOvertakenUnlock is that an Unlock, on its way when the hold ends by something else, is told what that was:
// the holder of an engine that closes did not lose its lock to anybody.
func TestOvertakenUnlock(t *testing.T) {
	for why, end := range map[Why]func(w *world, a *process){
		Closed: func(w *world, a *process) { a.close() },
		Lost:   func(w *world, a *process) { a.force(stock) },
		TooLong: func(w *world, a *process) {
			w.after(a.cfg.LeaseTime / 3)
			a.expect(Renew).answer()
			w.after(a.cfg.MaxHold - a.cfg.LeaseTime/3)
		},
	} {
		playAlone(t, whyNames[why], func(w *world, a *process) {
			a.cfg.MaxHold = a.cfg.LeaseTime / 2
			holder := a.lock()
			a.expect(Acquire).answer()
			w.want(holder.stop(), "a hold to unlock")
			end(w, a)
			holder.wantEnd(why)
			holder.unlockHeard()
			holder.released.want(why)
		})
	}
}
