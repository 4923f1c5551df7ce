package gate

import "go.uber.org/atomic"

// Stats counts what the machines of one engine have done. The loop writes, anybody reads.
type Stats struct {
	Held      atomic.Int64 // holds alive now
	Granted   atomic.Int64
	Handoffs  atomic.Int64 // grants that cost no network
	Attempts  atomic.Int64 // acquires sent
	Waits     atomic.Int64 // acquires that found another owner
	Refused   atomic.Int64 // requests that were turned away: by a bound, or by the server
	Batches   atomic.Int64 // pipelines sent
	Lost      atomic.Int64 // holds that ended otherwise than by Unlock
	Uncertain atomic.Int64 // commands whose answer was lost
}

func (s *Stats) granted() {
	s.Held.Inc()
	s.Granted.Inc()
}
