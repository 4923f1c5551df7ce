//go:build wheellock_stall

package bubble

import (
	"time"

	"github.com/wheellock/wheellock/wheel/stall"
)

// stalls says that goroutines of engines can be kept from running.
const stalls = true

// slack is how much later than its bound a call may return. Timers do not stand still while a machine is suspended, as they should: they
// ring before their time by the engine's clock, and are set again.
const slack = 150 * time.Millisecond

// stall lets time pass at the points of engines, until the function it returns is called.
func (w *World) stall() (undo func()) {
	return stall.Set(func(point, engine string) {
		if w.judging.Load() {
			return
		}
		for _, p := range w.processes {
			if p.ours(engine) {
				p.pass(point)
				return
			}
		}
	})
}

// pass is a goroutine at a point.
func (p *process) pass(point string) {
	p.points.Add(1)
	p.stand()
	if p.w.recovering.Load() {
		return
	}
	next := never
	if p.w.plan.favours(point) {
		next = p.w.judge.nextDeadline(p)
	}
	p.mu.Lock()
	kept, d := p.r.Float64() < p.w.plan.stalls, spread(p.r, time.Microsecond, 2*p.w.plan.lease)
	if next < never && p.r.IntN(10) == 0 {
		// Beyond the end of a hold: a check before the pause and its effect after it belong to different times.
		kept, d = true, next+spread(p.r, time.Microsecond, p.w.plan.lease)
	}
	kept = kept && time.Now().After(p.rests)
	if kept && next < never && d > next { // what that leads to is seen before another pause hides it
		p.rests = time.Now().Add(d + restTime)
	}
	p.mu.Unlock()
	if !kept {
		return
	}
	p.keep(d)
	p.w.note("%v is kept for %v at %q", p, d, point)
	time.Sleep(d)
	p.stand()
}

// opens gives the next engine the clock of this process, until the function it returns is called.
func (p *process) opens() (undo func()) {
	return stall.SetWatch(func() stall.Watch { return stall.Watch{Count: p.clock.count, Suspended: p.clock.suspended} })
}
