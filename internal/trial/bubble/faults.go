package bubble

import "time"

// befall has things go wrong until the world's time is over: bursts of one to three faults that begin about together, for faults
// that meet find what single ones do not.
func (w *World) befall() {
	r := w.chance(faultChance)
	f := &faults{w: w, r: r}
	half := w.plan.lasts / 2
	for end := w.began.Add(w.plan.lasts); time.Now().Before(end) && !w.failed(); {
		time.Sleep(spread(r, w.plan.faults/10, 2*w.plan.faults))
		if !w.plan.hot && half > 0 && time.Until(end) < half {
			end, half = end.Add(f.quiet()), 0
		}
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

// quietTime is how long nothing befalls anybody once everything has settled, so that all are served, and in their order.
const quietTime = 20 * time.Second

// quiet waits until everything has settled, and somewhat longer. It says how long that took.
func (f *faults) quiet() time.Duration {
	began := time.Now()
	f.undone.Wait()
	for _, p := range f.w.processes {
		time.Sleep(-p.well())
	}
	f.w.note("quiet period")
	lasts := f.w.settling() + quietTime
	for _, p := range f.w.processes {
		p.rest(lasts)
	}
	time.Sleep(lasts)
	return time.Since(began)
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
