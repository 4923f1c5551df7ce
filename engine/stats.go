package engine

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Stats is a snapshot of an engine's counters. Its JSON names are part of the API. Durations are nanoseconds in JSON.
type Stats struct {
	Up         bool          `json:"up"`          // as Engine.Up
	Held       int64         `json:"held"`        // holds that have not ended
	Waiting    int64         `json:"waiting"`     // requests not answered yet
	Granted    int64         `json:"granted"`     // holds granted so far
	Handoffs   int64         `json:"handoffs"`    // of these, granted without asking Redis
	Attempts   int64         `json:"attempts"`    // acquires sent
	Waits      int64         `json:"waits"`       // acquires that found another owner, and waited
	Lost       int64         `json:"lost"`        // holds that ended otherwise than by Unlock
	AtRisk     int64         `json:"at_risk"`     // of those that are held: their renewal is overdue, see Risk
	Forgotten  int64         `json:"forgotten"`   // holds that were forgotten so far, with Options.OnForgotten
	Refused    int64         `json:"refused"`     // requests that failed with ErrOverloaded or ErrRefused
	Uncertain  int64         `json:"uncertain"`   // commands without an answer: it was lost
	Overflowed int64         `json:"overflowed"`  // callbacks that found no free worker for 50ms
	Batches    int64         `json:"batches"`     // pipelines sent
	Narrow     int64         `json:"narrow"`      // masters of a cluster that refuse script calls with names of several hash slots
	OldestHold time.Duration `json:"oldest_hold"` // how long the oldest living hold has been held; 0: none
}

// Up reports whether the link to Redis works, of a cluster those to all masters, as far as the engine knows. It finds out within a second when a
// connection ends; that a server stands still it finds out when it asks for something, as for a lock or its renewal, and there is no answer
// within Redis.ConnWriteTimeout. While the link is down it tries by itself. Up is false after Close. It costs nothing: a readiness probe may
// ask for it.
//
// Be unready while it is false if another replica of the service may reach Redis when this one does not, as in a network that has parted, and a
// load balancer is to choose that one. If all replicas have one Redis, an outage of it makes all of them unready at once, and clients get the
// load balancer's error for every request, with or without a lock: then stay ready, and answer by WithFailFast and a 503 at once. It is no
// probe of liveness: a restart ends all holds and mends nothing.
func (e *Engine) Up() bool { return e.dispatcher.Up() }

// Stats takes a snapshot. It looks at all live names to find the oldest hold: call it every few seconds, not per lock.
func (e *Engine) Stats() Stats {
	s := e.dispatcher.Stats()
	stats := Stats{
		Up: e.Up(), Held: s.Held.Load(), Waiting: e.waiting.Load(), Granted: s.Granted.Load(), Handoffs: s.Handoffs.Load(),
		Attempts: s.Attempts.Load(), Waits: s.Waits.Load(), Lost: s.Lost.Load(), AtRisk: s.AtRisk.Load(), Forgotten: e.forgotten.Load(), Refused: s.Refused.Load() + e.overloaded.Load(),
		Uncertain: s.Uncertain.Load(), Overflowed: e.callbacks.overflowed.Load(), Batches: s.Batches.Load(), Narrow: s.Narrow.Load(),
	}
	if since := e.dispatcher.Oldest(""); since != gate.Never {
		stats.OldestHold = e.clock.Now() - since
	}
	return stats
}
