package bubble

import "time"

// befall has things go wrong until the world's time is over: bursts of one to three faults that begin about together, for faults
// that meet find what single ones do not.
func (w *World) befall() {
	r := w.chance(faultChance)
	f := &faults{w: w, r: r}
	for end := w.began.Add(w.plan.lasts); time.Now().Before(end) && !w.failed(); {
		time.Sleep(spread(r, w.plan.faults/10, 2*w.plan.faults))
		p := w.processes[r.IntN(len(w.processes))]
		if r.IntN(2) == 0 {
			f.strike(p)
		}
		for range 1 + r.IntN(3) {
			f.one(p)
			time.Sleep(spread(r, 10*time.Microsecond, 2*w.plan.travel))
		}
	}
	f.undone.Wait()
}

// mend ends all that befalls the world. Callers finish what they do, and begin nothing.
func (w *World) mend() {
	w.note("recover")
	w.recovering.Store(true)
	for _, s := range w.servers {
		s.Refuse("", 0)
		s.SlowTime(0)
		s.Load(0)
	}
	for _, p := range w.processes {
		for _, l := range p.past {
			l.Cut()
		}
		for _, l := range p.links {
			l.Mend(p.travel)
			if w.seed%2 == 0 { // nor does what is held up arrive
				l.Cut()
			}
		}
		p.mend(time.Duration(w.seed%2) * 4 * w.plan.lease)
	}
}
