package elect

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/internal/leaders"
)

const (
	lookEvery  = 5 * time.Second        // in case a message was lost
	askAgain   = 100 * time.Millisecond // after an error that can pass
	listenPace = 250 * time.Millisecond // between a subscription that ended and the next

	// After a message that told of no new leader, the next leads to a question 1 ms after the last one at the earliest, doubling to
	// 250 ms: a flood of messages makes each observer ask at most four times a second.
	firstHeed   = time.Millisecond
	longestHeed = 250 * time.Millisecond
)

// Observe yields the leader, and then every new leader it learns of, until ctx ends. Of leaders in quick succession it
// may skip some, but never the last. It yields nothing while there is no leader; if the same process leads again, it yields that
// process again, with its new term.
//
// A message from the new leader wakes the observer. In case messages are lost, it also asks every five seconds, and
// whenever its connection was broken. While messages come without a new leader, it asks four times a second. It goes on while Redis cannot
// be reached. Besides ctx, these end it: the engine is
// closed, the election is invalid, or Redis refuses for a reason that does not pass. [Election.Leader] then returns the
// error.
func (e *Election) Observe(ctx context.Context) iter.Seq[Leader] {
	return func(yield func(Leader) bool) {
		if e.wrong != nil {
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		wake := make(chan struct{}, 1)
		go e.followLeader(ctx, wake) // nobody waits for its end, for it may be dialling; Close of the engine does
		last, pause := int64(0), time.Duration(0)
		for ctx.Err() == nil {
			leader, passes, err := e.ask(ctx, nil)
			next := lookEvery
			switch {
			case err == nil && leader.Term != last:
				last, pause = leader.Term, 0
				if !yield(leader) {
					return
				}
			case passes:
				next = askAgain
			case err != nil && !errors.Is(err, ErrNoLeader) && ctx.Err() == nil:
				e.opts.Logger.Warn("wheellock: cannot observe an election", "election", e.name, "error", err)
				return
			}
			wait(ctx, nil, pause)
			if wait(ctx, wake, next) {
				pause = min(max(2*pause, firstHeed), longestHeed)
			} else {
				pause = 0
			}
		}
	}
}

// followLeader puts a token into wake whenever there may be a new leader.
func (e *Election) followLeader(ctx context.Context, wake chan<- struct{}) {
	wakeUp := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	for told := false; ctx.Err() == nil; {
		passes, err := leaders.Listen(ctx, e.e, e.name, wakeUp)
		pace := listenPace
		switch {
		case errors.Is(err, engine.ErrClosed), errors.Is(err, engine.ErrInvalid):
			wakeUp() // the question that follows gets that error
			return
		case errors.Is(err, engine.ErrRefused) && !passes:
			pace = lookEvery
			if !told {
				e.opts.Logger.Warn("wheellock: may not listen for unlock messages", "election", e.name, "error", err)
			}
			told = true
		}
		wait(ctx, nil, pace)
	}
}

// wait waits until ctx ends, a token is in wake, or d is over. True: it has taken the token.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
		return true
	case <-timer.C:
	}
	return false
}
