package chaos

import (
	"math/rand/v2"
	"time"
)

// fault is one thing that can go wrong. Its strike begins it, lets it last, and ends it.
type fault struct {
	name string
	// strike breaks something and mends it again. False: there was nothing to break.
	strike func(*strike) bool
	// destroys says that keys are gone afterwards, though their leases were not over.
	destroys bool
	// unnoticed: nobody may have to wait because of it.
	unnoticed bool
	// onServer: it befalls all clients at once.
	onServer bool
	// pause is that between two strikes, at most; 0: 300ms.
	pause time.Duration
}

// strike is one blow.
type strike struct {
	*phase
	*rand.Rand
	victim *process // nil: all
	place  *place   // the only name that was struck; nil: all
	down   span     // Redis was gone; 0: it was not
	back   instant  // it answered again
}

// upTo is a time up to d, and not 0.
func (s *strike) upTo(d time.Duration) time.Duration { return 1 + time.Duration(s.Int64N(int64(d))) }

// last waits for a time up to d.
func (s *strike) last(d time.Duration) { time.Sleep(s.upTo(d)) }

// clientFaults befall the processes that use the engine.
var clientFaults = []fault{
	{name: "client SIGSTOP", strike: func(s *strike) bool {
		return s.victim.freeze(s.upTo(3 * s.victim.Lease))
	}},
	{name: "client kill -9", pause: time.Second, strike: func(s *strike) bool {
		s.victim.kill()
		s.replace(s.victim)
		return true
	}},
}
