package gate

import (
	"slices"

	"github.com/wheellock/wheellock/scripts"
)

// A counting semaphore without owners.
//
// One call takes permits for as many waiters from the head of the queue as there are permits for (take.lua). The permits are unassigned
// until a waiter is granted them. If a waiter has given up meanwhile, its permits go to the next one, or back to Redis.

// mostServed bounds the waiters for which one call takes permits, or places in a fair queue: to a fraction of a millisecond of the server's time.
const mostServed = 128

// askPermits takes permits for the waiters at the head of the queue.
func (s *Sequencer) askPermits(now Time, resent bool) Command {
	t := TakeArgs{Resent: resent}
	op, most, leased := Take, int64(maxSum), s.Kind == PermitKind
	if leased {
		op, most = PermitTake, mostPermits
	}
	runs, sum, served, limited := make([]byte, 0, 32), int64(0), 0, false
	s.permits.asked = s.permits.asked[:0]
	w := s.contest.queue.head
	for w != nil && served < mostServed && sum+w.N <= most {
		run, one := 0, share{n: w.N}
		if leased {
			one.lease = w.LeaseTime
		}
		for ; w != nil && w.N == one.n && (!leased || w.LeaseTime == one.lease) && served < mostServed && sum+one.n <= most; w = w.next {
			w.asked, limited = true, limited || w.Limit != 0
			run++
			served++
			sum += one.n
		}
		runs = scripts.AppendRun(runs, one.n, int64(run), one.lease)
		s.permits.asked = append(s.permits.asked, slices.Repeat([]share{one}, run)...)
	}
	if limited { // the last call counts, also for those before it
		runs = scripts.AppendLimit(runs, s.limit)
	}
	t.Runs = scripts.Runs(runs)
	s.askInLine(now, &t)
	return Command{Op: op, Args: t.Args()}
}

// admitTaken grants the permits that c took, and those that are unassigned.
func (s *Sequencer) admitTaken(now Time, c *Command) {
	s.unassigned += max(int64(c.Reply), 0)
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

// Settle keeps the permits if Redis has refused them, or was not reached: they are given again for as long as the engine lives. If the call got no answer, they
// are not given twice. If the key holds something else, there is nothing to give them to.
func (s *surplus) Settle(out Outcome) bool {
	if out.Why == Refused || out.Why == Down {
		s.s.unassigned += s.n
	} else {
		s.s.giveAt = 0
	}
	return true
}
