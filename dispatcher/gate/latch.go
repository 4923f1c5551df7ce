package gate

import "github.com/wheellock/wheellock/scripts"

// Latch is the machine of a count-down latch: all waiters are let through when the count is 0.
type Latch struct{ sequencer }

func newLatch() Machine { return &Latch{} }

func (l *Latch) reset(cfg *Config) { l.sequencer.reset(cfg, l) }

// Ask is a caller that waits for the latch. It looks for itself, whatever was heard before.
func (l *Latch) Ask(now Time, w *Waiter, fx *Effects) {
	l.again = true
	l.sequencer.Ask(now, w, fx)
}

// ask looks at the count, for all that wait now. An answer is of no use to those that come later: it may be
// older than they are.
func (l *Latch) ask() Command {
	for w := l.contest.queue.tail; w != nil && !w.asked; w = w.prev {
		w.asked = true
	}
	return Command{Op: GetCount}
}

// admit lets through the waiters that it looked for, if the latch is open.
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
