package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// What a server said last is told in its words, whatever ended the wait.
func TestTheErrorOfAWaitHasTheWordsOfTheLastAnswer(t *testing.T) {
	mutex := &operation{name: "stock:7", doing: "lock", wait: 100 * time.Millisecond}
	for _, c := range []struct {
		last gate.Outcome
		is   error
		text string
	}{
		{gate.Outcome{Last: gate.Taken, TTL: 12 * time.Second}, ErrHeld, "held by another owner, lease ends in 12s"},
		{gate.Outcome{Last: gate.Taken, TTL: -1}, ErrHeld, "held by another owner, without an end that is known"},
		{gate.Outcome{Last: gate.NotReplicated}, ErrNotReplicated, "too few replicas acknowledged, or not synced to disk in time"},
		{gate.Outcome{Last: gate.Refused, ServerMessage: "LOADING Redis is loading"}, ErrRefused, "refused by Redis: LOADING Redis is loading"},
		{gate.Outcome{Last: gate.Refused, Fault: scripts.ReadOnly}, ErrRefused, "refused by Redis: " + scripts.ReadOnly.String()},
		{gate.Outcome{Last: gate.Down}, ErrUnavailable, "no answer from Redis"},
		{gate.Outcome{Last: gate.Down, ServerMessage: "dial tcp"}, ErrUnavailable, "Redis cannot be reached: dial tcp"},
		{gate.Outcome{Last: gate.Doubtful, ServerMessage: "EOF"}, ErrUncertain, "no answer from Redis, the outcome is unknown: EOF"},
	} {
		for why, text := range map[error]string{context.DeadlineExceeded: "context deadline exceeded", ErrWaitTimeout: "wait timed out after 100ms"} {
			out := c.last
			out.Why = gate.GaveUp
			if why == ErrWaitTimeout {
				out.Why = gate.TimedOut
			}
			err := mutex.answer(out, context.DeadlineExceeded)
			if !errors.Is(err, why) || !errors.Is(err, c.is) {
				t.Errorf("%v is not %v and %v", err, why, c.is)
			}
			if want := `wheellock: lock "stock:7": ` + text + ": " + c.text; err.Error() != want {
				t.Errorf("the text is %q, want %q", err, want)
			}
		}
	}
}

// Every outcome but a grant is an error with a text, whatever was asked: Detach is told by Taken that its Owner has got another hold.
func TestEveryOutcomeIsAnError(t *testing.T) {
	for why := gate.Granted + 1; why < gate.GaveUp; why++ {
		if why == gate.TimedOut { // an answer of waits alone
			continue
		}
		err := closedOr("detach", "stock:7", gate.Outcome{Why: why}, ErrClosed)
		if text := trim(err.Error()); text == "" || errors.Is(err, ErrHeld) != (why == gate.Taken) {
			t.Errorf("outcome %d: %v", why, err)
		}
	}
}
