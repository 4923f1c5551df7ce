package load

import (
	"context"
	"time"
)

// limits are the times of a drain, and of other judgements. They are a value so that tests need not wait as long.
type limits struct {
	patience time.Duration // for as long every waiter may still get the lock
	recent   time.Duration // a name that was released so short a time ago is in use
	stranded time.Duration // a name that is free for so long has forgotten its waiters: the engine asks again every 2s
	comeBack time.Duration // a cancelled call that has not returned by then is stuck

	// And, at any time: a fair lock was given out of turn if its new holder asked so much later than a caller that still waits. A caller
	// gets its place in Redis a moment after it asked, and loses it for a while when its process stands still for longer
	// than engine.Options.FairWaiterLease, 5s.
	overtaking time.Duration
	// A name that is free for so long is lost to a caller of those that alternate: no library sleeps a quarter of that between two tries.
	forgotten time.Duration
}

var usualLimits = limits{
	patience: 2 * time.Second, recent: time.Second, stranded: 5 * time.Second, comeBack: 5 * time.Second, overtaking: 10 * time.Second, forgotten: time.Second,
}

// lookEvery is how often the drain looks for waiters.
const lookEvery = 10 * time.Millisecond

// drain ends a run after its callers began their last calls:
//
//  1. For limits.patience, waiters may get the lock as before.
//  2. While a waiter's name is free, but not yet for as long as proves anything, the drain waits on.
//  3. It tells waiters for a name in use, which are given up, from waiters for a free name, which are stranded.
//  4. It cancels them all, and waits for their calls to return.
//  5. It closes the engine, which ends what is left. A call that has not returned even then is stuck.
func (r *Rig) drain(hurry context.Context) *Ending {
	ending := &Ending{}
	finished := r.running.zero()
	start := Now()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-finished:
			waiting = false
		case <-hurry.Done():
			waiting = false
		case <-look.C:
			waiting = r.undecided(start)
		}
	}
	r.judge(start, ending, hurry.Err() == nil)
	r.giveUp()
	select {
	case <-finished:
	case <-time.After(r.limits.comeBack):
	}
	ending.Down = !r.reachable()
	r.disconnect() // settles what is left, at the latest
	select {
	case <-finished:
	case <-time.After(r.limits.comeBack):
		ending.Stuck = r.running.left.Load()
	}
	return ending
}

// undecided reports whether waiting longer can show something about the waiters.
func (r *Rig) undecided(start Instant) bool {
	now := Now()
	if now.Sub(start) < r.limits.patience {
		return true
	}
	limit := r.limit()
	for _, c := range r.callers {
		if quiet, waits := r.quiet(c, start, now); waits && quiet > r.limits.recent && quiet < limit {
			return true
		}
	}
	return false
}

// judge sorts the waiters that are left. surely: they had enough time for an answer.
func (r *Rig) judge(start Instant, ending *Ending, surely bool) {
	now, limit := Now(), r.limit()
	for _, c := range r.callers {
		switch quiet, waits := r.quiet(c, start, now); {
		case !waits:
		case quiet >= limit && surely && r.reachable():
			ending.Stranded = append(ending.Stranded, r.plan.name(int(c.at.Load())))
		default:
			ending.GivenUp++
		}
	}
}

// quiet is for how long nothing has happened with the name that c waits for, while it was free.
func (r *Rig) quiet(c *caller, start, now Instant) (quiet time.Duration, waits bool) {
	asked := Instant(c.waiting.Load())
	if asked == 0 {
		return 0, false
	}
	p := r.places[c.at.Load()]
	if r.proof.inUse(p) {
		return 0, true
	}
	last := max(start, asked)
	for _, cell := range p {
		last = max(last, Instant(cell.released.Load()))
	}
	return now.Sub(last), true
}

// limit is how long a name may be free in vain. When commands or holds were lost, their leases have to run
// out in Redis first.
func (r *Rig) limit() time.Duration {
	if counts, _ := r.counts(); counts.Uncertain > 0 || counts.Lost > 0 {
		return r.limits.stranded + r.plan.LeaseTime()
	}
	return r.limits.stranded
}
