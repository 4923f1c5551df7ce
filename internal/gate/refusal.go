package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// refusal is a no of the server: by a script's fault, or in its own words.
func refusal(fault scripts.Fault, words string) Outcome {
	if _, foreign := fault.Foreign(); foreign {
		return Outcome{Why: Foreign, Fault: fault, Words: words}
	}
	return Outcome{Why: Refused, Fault: fault, Words: words}
}

// declined answers those that cannot wait after an acquire that surely did nothing, for another reason than another
// owner, and says when to ask for the others. What will not pass by itself is an answer to everyone.
func (q *Queue) declined(cfg *Config, now Time, c *Command) (askAt Time) {
	fault := c.Reply.Fault()
	_, late := c.Reply.Late()
	askAt = now + retryPause
	switch {
	case c.Result == NotSent:
		q.turnAway(cfg, Outcome{Why: Down}, triesOnce)
		return now + time.Second // LinkUp comes earlier
	case c.Result == Again, c.Result == Answered && fault == scripts.ReadOnly:
		q.turnAway(cfg, refusal(fault, c.Words), triesOnce)
	case c.Result == Answered && late:
		return now
	default:
		q.turnAway(cfg, refusal(fault, c.Words), everyone)
	}
	return askAt
}
