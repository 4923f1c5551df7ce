package gate

import (
	"fmt"
	"time"
)

// retries is how often in a row something was asked for in vain. It says how long to pause before the next attempt.
// An answer that is no failure starts it anew, and so does a link that is there again.
type retries uint8

const (
	// retryPause is the first pause: some round trips.
	retryPause = 20 * time.Millisecond
	// longestPause makes six to eight attempts a second of what stays in vain, and a waiter learns of the end of a
	// fault within as long.
	longestPause = 160 * time.Millisecond
	// deniedPause is between attempts at what the server refuses for a reason that does not pass by itself, and of
	// what waits for LinkUp, which comes earlier.
	deniedPause = time.Second
)

// next is the pause before the next attempt: retryPause doubling to longestPause, up to a quarter less by a jitter
// drawn from seed.
func (r *retries) next(seed uint64) time.Duration {
	pause := min(retryPause<<min(*r, 8), longestPause)
	if *r < 255 {
		*r++
	}
	return pause - jitter(seed+uint64(*r), pause/4)
}

// within is the pause before the next attempt at what keeps a lease alive: several attempts fit into what a failed renewal
// leaves of the lease, and a long lease, of which there may be very many, is asked for less often.
func within(pause, lease time.Duration) time.Duration {
	return max(min(pause, lease/10), lease/50, 5*time.Millisecond)
}

// declinedOutcome is what to say of an acquire that surely did nothing, for another reason than another owner, and how long
// to pause before the next. What came to Redis too late is first asked for again at once and nothing is said: the
// server's clock is known by then.
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

// refusal is a no of the server: by a script's fault, or in its own words.
func refusal(c *Command) Outcome {
	fault := c.Reply.Fault()
	out := Outcome{Why: Refused, Fault: fault, ServerMessage: c.ServerMessage, Passes: c.Result == Again || fault.Passing()}
	if _, foreign := fault.Foreign(); foreign {
		out.Why = Foreign
	}
	return out
}

// unreleasedOutcome is what to say of a release that proved nothing, and how long to pause before the next.
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

// unprovedOutcome is what to say of a command that proved nothing.
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
