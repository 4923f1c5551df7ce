package gate

// Stats counts what the machines of one dispatcher have done. The loop writes, anybody reads.
type Stats struct {
	Held      Counter // holds alive now
	Granted   Counter
	Handoffs  Counter // grants that cost no network
	Attempts  Counter // acquires sent
	Waits     Counter // acquires that found another owner
	Refused   Counter // requests that were turned away: by a bound, or by the server
	Batches   Counter // pipelines sent
	Lost      Counter // holds that ended otherwise than by Unlock
	Uncertain Counter // commands whose answer was lost
}

func (s *Stats) granted() {
	s.Held.Inc()
	s.Granted.Inc()
}
