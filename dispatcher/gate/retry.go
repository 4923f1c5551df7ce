package gate

import (
	"fmt"
	"time"
)

// retries is the number of failures in a row of one thing that is asked for. It sets the pause before the next attempt. An answer that is
// no failure sets it to 0, and so does the end of an outage.
type retries uint8

const (
	// retryPause is the first pause: a few round trips.
	retryPause = 20 * time.Millisecond
	// longestPause makes six to eight attempts a second while the failures go on. A waiter learns of the end of a fault within this time.
	longestPause = 160 * time.Millisecond
	// deniedPause is the pause after a refusal for a reason that does not pass by itself, and while the link is down, which LinkUp ends
	// earlier.
	deniedPause = time.Second
)

// next is the pause before the next attempt: retryPause, doubling to longestPause, less a jitter of up to a quarter drawn from seed.
func (r *retries) next(seed uint64) time.Duration {
	pause := min(retryPause<<min(*r, 8), longestPause)
	if *r < 255 {
		*r++
	}
	return pause - jitter(seed+uint64(*r), pause/4)
}

// pauseWithin is the pause before the next renewal of t after a failed one. However long the lease is, several attempts fit into the last
// seconds, which are all that a lock has that was given.
func (t *Tenure) pauseWithin(pause time.Duration, now Time) time.Duration {
	if t.Deadline-now <= giftTime {
		return within(pause, min(t.LeaseTime, giftTime))
	}
	return within(pause, t.LeaseTime)
}

// within is the pause before the next renewal of this lease: several attempts fit into the rest of the lease after a failed renewal. A long
// lease, of which a process may have very many, is renewed less often.
func within(pause, lease time.Duration) time.Duration {
	return max(min(pause, lease/10), lease/50, 5*time.Millisecond)
}

// declinedOutcome is the answer to an acquire that surely did nothing, for another reason than another owner, and the pause before the next
// attempt. After a first one that came to Redis too late there is neither: the answer has told the engine the server's clock.
func declinedOutcome(c *Command, tries *retries) (out Outcome, pause time.Duration) {
	if c.Result == NotSent {
		return unprovedOutcome(c), deniedPause
	}
	_, late := c.Reply.Late()
	if late = late && c.Result == Answered; late && *tries == 0 {
		*tries++
		return Outcome{}, 0
	}
	pause = tries.next(c.ID)
	if late {
		return Outcome{Why: TooLate, ServerMessage: fmt.Sprintf("by the clock of Redis it came more than %v after it was sent, and did nothing", LateWindow)}, pause
	}
	return refusal(c), pause
}

// refusal is the outcome of a command that the server refused, by a script's fault or by an error of its own.
func refusal(c *Command) Outcome {
	fault := c.Reply.Fault()
	out := Outcome{Why: Refused, Fault: fault, ServerMessage: c.ServerMessage, Passes: c.Result == Again || fault.Passing()}
	if _, foreign := fault.Foreign(); foreign {
		out.Why = Foreign
	}
	return out
}

// unreleasedOutcome is the answer to a release that proved nothing, and the pause before the next attempt.
func unreleasedOutcome(c *Command, tries *retries) (out Outcome, pause time.Duration) {
	switch c.Result {
	case NotSent:
		return unprovedOutcome(c), deniedPause
	case Unknown:
		return Outcome{Why: Down, ServerMessage: c.ServerMessage}, tries.next(c.ID)
	}
	if out = refusal(c); out.final() {
		return out, deniedPause
	}
	return out, tries.next(c.ID)
}

// unprovedOutcome is the answer to a command that proved nothing.
func unprovedOutcome(c *Command) Outcome {
	switch c.Result {
	case NotSent:
		return Outcome{Why: Down, ServerMessage: c.ServerMessage}
	case Unknown:
		return Outcome{Why: Doubtful, ServerMessage: c.ServerMessage}
	case UnderReplicated:
		return Outcome{Why: NotReplicated}
	}
	return refusal(c)
}
