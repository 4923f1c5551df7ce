package engine

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Stats is a snapshot of an engine's counters. Its JSON names are part of the API. Durations are nanoseconds in JSON.
type Stats struct {
	Up         bool          `json:"up"`          // the link to Redis works, as far as the engine knows, which looks every second; false after Close
	Held       int64         `json:"held"`        // holds that have not ended
	Waiting    int64         `json:"waiting"`     // requests not answered yet
	Granted    int64         `json:"granted"`     // holds granted so far
	Handoffs   int64         `json:"handoffs"`    // of these, granted without asking Redis
	Attempts   int64         `json:"attempts"`    // acquires sent
	Waits      int64         `json:"waits"`       // acquires that found another owner, and waited
	Lost       int64         `json:"lost"`        // holds that ended otherwise than by Unlock
	AtRisk     int64         `json:"at_risk"`     // of those that are held: their renewal is overdue, see Risk
	Refused    int64         `json:"refused"`     // requests that failed with ErrOverloaded or ErrRefused
	Uncertain  int64         `json:"uncertain"`   // commands without an answer: it was lost
	Overflowed int64         `json:"overflowed"`  // callbacks that found no free worker for 50ms
	Batches    int64         `json:"batches"`     // pipelines sent
	Narrow     int64         `json:"narrow"`      // masters of a cluster, of each dispatcher, that refuse script calls with names of several hash slots
	OldestHold time.Duration `json:"oldest_hold"` // how long the oldest living hold has been held; 0: none
}

// Stats takes a snapshot. It looks at all live names to find the oldest hold: call it every few seconds, not per lock.
func (e *Engine) Stats() Stats {
	stats := Stats{
		Up: e.dispatchers.up(), Waiting: e.waiting.Load(), Refused: e.overloaded.Load(), Overflowed: e.callbacks.overflowed.Load(),
	}
	for _, d := range e.dispatchers {
		s := d.Stats()
		stats.Held += s.Held.Load()
		stats.Granted += s.Granted.Load()
		stats.Handoffs += s.Handoffs.Load()
		stats.Attempts += s.Attempts.Load()
		stats.Waits += s.Waits.Load()
		stats.Lost += s.Lost.Load()
		stats.AtRisk += s.AtRisk.Load()
		stats.Refused += s.Refused.Load()
		stats.Uncertain += s.Uncertain.Load()
		stats.Batches += s.Batches.Load()
		stats.Narrow += s.Narrow.Load()
	}
	if since := e.dispatchers.oldest(); since != gate.Never {
		stats.OldestHold = e.clock.Now() - since
	}
	return stats
}
