package gate

import "github.com/wheellock/wheellock/scripts"

// A counting semaphore without owners.
//
// One call takes permits for as many waiters from the head of the queue as there are permits for (take.lua). The permits are unassigned
// until a waiter is granted them. If a waiter has given up meanwhile, its permits go to the next one, or back to Redis.

// mostServed bounds the waiters for which one call takes permits, or places in a fair queue: to a fraction of a millisecond of the server's time.
const mostServed = 128

// askTake takes permits for the waiters at the head of the queue.
func askTake(q *Queue, place int64, resent bool) Command {
	runs := make([]byte, 0, 32)
	sum := int64(0)
	w := q.head
	for served := 0; w != nil && served < mostServed && sum+w.N <= maxSum; {
		want, run := w.N, int64(0)
		for ; w != nil && w.N == want && served < mostServed && sum+want <= maxSum; w = w.next {
			w.asked = true
			run++
			served++
			sum += want
		}
		runs = scripts.AppendRun(runs, want, run)
	}
	for ; w != nil && w.asked; w = w.next { // the earlier question was for more waiters
		w.asked = false
	}
	return Command{Op: Take, Args: TakeArgs{Runs: scripts.Runs(runs), Place: place, Resent: resent}.Args()}
}

// admitTaken grants the permits that c took.
func (s *Sequencer) admitTaken(now Time, c *Command) {
	s.unassigned += int64(c.Reply)
	for w := s.contest.queue.head; w != nil && w.N <= s.unassigned; w = s.contest.queue.head {
		n := w.N
		if s.grant(now, w) {
			s.unassigned -= n
		}
	}
}

// giveUnassigned gives unassigned permits back.
func (s *Sequencer) giveUnassigned(now Time) Change {
	c := ChangeCount(Give, s.unassigned)
	c.Ack = &surplus{s, s.unassigned}
	s.unassigned, s.giveAt = 0, now+deniedPause // giveAt: if Redis refuses them
	return c
}

// surplus is unassigned permits that a call gives back.
type surplus struct {
	s *Sequencer
	n int64
}

// Settle keeps the permits if Redis has refused them: they are given again for as long as the engine lives. If the call got no answer, they
// are not given twice. If the key holds something else, there is nothing to give them to.
func (s *surplus) Settle(out Outcome) bool {
	if out.Why == Refused {
		s.s.unassigned += s.n
	} else {
		s.s.giveAt = 0
	}
	return true
}
