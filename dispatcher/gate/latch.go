package gate

// askCount reads the count of a latch for all that wait now. The answer does not serve callers that come later: it may be older than their
// call.
func askCount(q *Queue) Command {
	for w := q.tail; w != nil && !w.asked; w = w.prev {
		w.asked = true
	}
	return Command{Op: GetCount}
}

// admitAtZero grants the waiters that the question was for, if the count of the latch is 0.
func (s *Sequencer) admitAtZero(now Time, c *Command) {
	for w := s.contest.queue.head; w != nil && w.asked && c.Reply == 0; w = s.contest.queue.head {
		s.grant(now, w)
	}
}
