package gate

import "github.com/wheellock/wheellock/scripts"

// Semaphore is the machine of a counting semaphore without owners.
//
// One call takes permits for as many waiters from the head of the queue as there are permits for (take.lua). The permits are unassigned
// until a waiter is granted them. If a waiter has given up meanwhile, its permits go to the next one, or back to Redis.
type Semaphore struct {
	sequencer
	unassigned int64 // taken from Redis, and not granted
	giveAt     Time  // when unassigned permits may be given back
}

// surplus is unassigned permits that a call gives back.
type surplus struct {
	s *Semaphore
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

func newSemaphore() Machine { return &Semaphore{} }

func (s *Semaphore) reset(cfg *Config) {
	s.unassigned, s.giveAt = 0, 0
	s.sequencer.reset(cfg, s)
}

// mostServed is how many waiters one call takes permits for.
const mostServed = 128

// ask takes permits for the waiters at the head of the queue.
func (s *Semaphore) ask() Command {
	runs := make([]byte, 0, 32)
	sum := int64(0)
	w := s.contest.queue.head
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
	return Command{Op: Take, Args: TakeArgs{Runs: scripts.Runs(runs)}.Args()}
}

// updateQuestion takes permits for those that wait now.
func (s *Semaphore) updateQuestion(c *Command) {
	c.Args = TakeArgs{Runs: s.ask().Args.Take().Runs, Resent: true}.Args()
}

// admit grants the permits that were taken.
func (s *Semaphore) admit(now Time, c *Command, fx *Effects) {
	s.tries = 0
	s.unassigned += int64(c.Reply)
	for w := s.contest.queue.head; w != nil && w.N <= s.unassigned; w = s.contest.queue.head {
		n := w.N
		s.contest.queue.remove(w)
		if s.cfg.Answer(w, Outcome{}) {
			s.unassigned -= n
			s.cfg.Stats.Granted.Inc()
			s.rivals.noteFound(now, true)
		}
	}
	w := s.contest.queue.head
	switch {
	case w == nil:
	case s.again || !w.asked: // Redis has not been asked for these
		s.contest.askAt = now
	case w.Try: // it was refused, and with it all that want as much
		s.cfg.Stats.Waits.Inc()
		want := w.N
		s.contest.dismiss(s.cfg, Outcome{Why: Taken, TTL: -1}, func(w *Waiter) bool { return w.Try && w.asked && w.N >= want })
		s.contest.askAt = now
	default:
		s.refused(now, -1, fx)
	}
}

// Change changes the count. Permits that were taken for a caller that has gone become unassigned instead.
func (s *Semaphore) Change(now Time, c Change, fx *Effects) {
	if c.Ack == InVain {
		s.unassigned += c.Args.Count().N
		s.advance(now, fx)
		return
	}
	s.sequencer.Change(now, c, fx)
}

// ownChange gives unassigned permits back.
func (s *Semaphore) ownChange(now Time) (Change, bool) {
	n := s.unassigned
	if n == 0 || now < s.giveAt {
		return Change{}, false
	}
	s.unassigned, s.giveAt = 0, now+deniedPause // giveAt: if Redis refuses them
	c := ChangeCount(Give, n)
	c.Ack = &surplus{s, n}
	return c, true
}

// NextAlarm is when the machine must be woken if no event comes before.
func (s *Semaphore) NextAlarm() Time {
	at := s.sequencer.NextAlarm()
	if s.unassigned > 0 && s.call.Op == None {
		at = min(at, s.giveAt)
	}
	return at
}

// dismissAsked answers the waiters of a question that will get no answer: the permits that it took are lost.
func (s *Semaphore) dismissAsked() {
	s.contest.dismiss(s.cfg, Outcome{Why: Doubtful}, func(w *Waiter) bool { return w.asked })
}

func (s *Semaphore) giveBack(c *Command) { s.unassigned += int64(c.Reply) }

func (s *Semaphore) channel() func(string) string { return scripts.SemaphoreChannel }

// Idle reports whether the machine has nothing to do and nothing to remember.
func (s *Semaphore) Idle() bool { return s.sequencer.Idle() && s.unassigned == 0 }
