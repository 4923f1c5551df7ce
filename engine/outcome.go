package engine

import (
	"context"
	"errors"
)

// Outcome says in a word how the request ended, for metrics: "granted", or "reentry" if its Owner held the lock already.
// The words are part of the API.
func (g Grant) Outcome() string {
	if g.Reentry {
		return "reentry"
	}
	return "granted"
}

// Outcome says in a word why the call failed, for metrics. The words are part of the API; the first that fits counts:
//
//   - "closed": the engine was closed.
//   - "invalid": an error of the caller, [ErrInvalid], [ErrForeignKey] or [ErrDeadlock].
//   - "canceled": the caller's context was cancelled, or its future.
//   - "overloaded", "refused": [ErrOverloaded], [ErrRefused].
//   - "unavailable": any other [ErrUnavailable]. A wait during which Redis could not serve ends with this word or one of
//     the two before it.
//   - "wait_timeout": [WithWait] or the context's deadline was over while another owner had the lock.
//   - "held": another owner had the lock, and the call did not wait.
//   - "gone": an Adopt found that nobody has the lock under that owner id.
//   - "failed": anything else, such as a context whose Err is none of package context.
func (f Failure) Outcome() string { return wordOf(f.Err, failures) }

// Outcome says in a word why the hold ended, for metrics: "unlocked"; "max_hold" for [ErrMaxHold]; "closed" if its engine
// was closed; "lost" for any other [ErrLost], also when a fixed lease ran out. The words are part of the API.
func (e End) Outcome() string { return wordOf(e.Err, ends) }

// meaning is a word for an error.
type meaning struct {
	err  error
	word string
}

var (
	failures = []meaning{
		{ErrClosed, "closed"},
		{ErrInvalid, "invalid"}, {ErrForeignKey, "invalid"}, {ErrDeadlock, "invalid"},
		{context.Canceled, "canceled"},
		{ErrOverloaded, "overloaded"}, {ErrRefused, "refused"}, {ErrUnavailable, "unavailable"},
		{ErrWaitTimeout, "wait_timeout"}, {context.DeadlineExceeded, "wait_timeout"},
		{ErrHeld, "held"}, {ErrLost, "gone"},
	}
	ends = []meaning{{ErrUnlocked, "unlocked"}, {ErrClosed, "closed"}, {ErrMaxHold, "max_hold"}, {ErrLost, "lost"}}
)

// wordOf is the word of the first that err Is.
func wordOf(err error, meanings []meaning) string {
	for _, m := range meanings {
		if errors.Is(err, m.err) {
			return m.word
		}
	}
	return "failed"
}
