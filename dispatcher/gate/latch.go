package gate

import "github.com/wheellock/wheellock/scripts"

// Latch is the machine of a count-down latch: when the count is 0, all waiters are granted.
type Latch struct{ sequencer }

func newLatch() Machine { return &Latch{} }

func (l *Latch) reset(cfg *Config) { l.sequencer.reset(cfg, l) }

// Ask is a caller that waits for the latch. Redis is asked for it, whatever earlier answers were.
func (l *Latch) Ask(now Time, w *Waiter, fx *Effects) {
	l.again = true
	l.sequencer.Ask(now, w, fx)
}

// ask reads the count for all that wait now. The answer does not serve callers that come later: it may be older than their call.
func (l *Latch) ask() Command {
	for w := l.contest.queue.tail; w != nil && !w.asked; w = w.prev {
		w.asked = true
	}
	return Command{Op: GetCount}
}

// admit grants the waiters that the question was for, if the count is 0.
func (l *Latch) admit(now Time, c *Command, fx *Effects) {
	l.tries = 0
	w := l.contest.queue.head
	for ; w != nil && w.asked && c.Reply == 0; w = l.contest.queue.head {
		l.contest.queue.remove(w)
		if l.cfg.Answer(w, Outcome{}) {
			l.cfg.Stats.Granted.Inc()
			l.rivals.noteFound(now, true)
		}
	}
	switch {
	case w == nil:
	case l.again || !w.asked:
		l.contest.askAt = now
	default:
		l.refused(now, -1, fx)
	}
}

func (l *Latch) updateQuestion(*Command) {}

func (l *Latch) ownChange(Time) (Change, bool) { return Change{}, false }

func (l *Latch) dismissAsked() {}

func (l *Latch) giveBack(*Command) {}

func (l *Latch) channel() func(string) string { return scripts.LatchChannel }
