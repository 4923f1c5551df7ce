package load

import (
	"context"
	"time"
)

// Two callers alternate, each in a process: the holder keeps the name until the other asks for it, and for Plan.Hold after that, in which the
// other goes to sleep. Then it unlocks, and leaves the name alone until the other has it. So the time of a hand-over is from Unlock in
// one process to the grant in the other: both read the clock of one machine. bench/redisson does the same in Handover.java.

// look is how often a process looks at the shared memory for what the other one does.
const look = 50 * time.Microsecond

// alternating is what a goroutine knows of its turns.
type alternating struct {
	grants int64 // that there were with its own
	end    context.CancelFunc
}

// ask gets the lock.
func (g *goroutine) ask() (Grant, error) {
	if !g.rig.alternates() {
		return g.resource.get(g.rig.waits, g.rig.terms)
	}
	var ctx context.Context
	if g.end != nil {
		g.end()
	}
	ctx, g.end = context.WithCancel(g.rig.waits) // to some libraries it is the context of the hold, too
	asking := make(chan struct{})
	go g.rescue(asking, g.end)
	g.cell().shut.Add(1)
	got, err := g.resource.get(ctx, g.rig.terms)
	g.cell().shut.Add(-1)
	close(asking)
	if err == nil {
		g.forgotten.Store(false)
		g.grants = g.cell().opened.Add(1)
	}
	return got, err
}

// awaitAsk waits until the other one asks.
func (g *goroutine) awaitAsk() {
	for g.rig.alternates() && g.cell().shut.Load() == 0 && g.sleep(look) {
	}
}

// yield waits until the other one has had the lock.
func (g *goroutine) yield() {
	for g.rig.alternates() && g.cell().opened.Load() == g.grants && g.sleep(look) {
	}
}

// rescue ends the wait of a caller that sleeps while the name has long been free, and has it ask again. The hand-over is lost: it counts with the
// time it took.
func (g *goroutine) rescue(asking <-chan struct{}, end func()) {
	for tick := time.Tick(g.rig.limits.forgotten / 20); ; {
		select {
		case <-asking:
			return
		case <-tick:
		}
		if quiet, waits := g.rig.quiet(g.caller, 0, Now()); waits && quiet > g.rig.limits.forgotten && !g.rig.isEnding() {
			g.forgotten.Store(true)
			g.shard.lost(quiet)
			end()
			return
		}
	}
}

func (r *Rig) alternates() bool { return r.contest != nil && r.contest.Alternate }

// countWaits counts callers that still wait with the time they have waited: without them one that is never served would not be seen at all. Those
// that alternate count from when the name became free.
func (r *Rig) countWaits(times *Times) {
	now := Now()
	for _, c := range r.callers {
		if asked := Instant(c.waiting.Load()); asked != 0 && !r.alternates() {
			times.Acquire.Record(now.Sub(asked))
		} else if quiet, waits := r.quiet(c, 0, now); waits && quiet > 0 && r.alternates() {
			times.Across.Record(quiet)
		}
	}
}
