package chaos

import (
	"context"
	"errors"

	"github.com/wheellock/wheellock/engine"
)

// classes is what an error is, of those that the engine's contract names.
type classes uint32

const (
	isHeld classes = 1 << iota
	isWaitTimeout
	isNotSent
	isUncertain
	isRefused
	isOverloaded
	isLost
	isUnlocked
	isInvalid
	isForeign
	isDeadlock
	isClosed
	isContext
	isOther
)

var sentinels = []struct {
	class classes
	err   error
}{
	{isHeld, engine.ErrHeld}, {isWaitTimeout, engine.ErrWaitTimeout}, {isNotSent, engine.ErrNotSent},
	{isUncertain, engine.ErrUncertain}, {isRefused, engine.ErrRefused}, {isOverloaded, engine.ErrOverloaded},
	{isLost, engine.ErrLost}, {isUnlocked, engine.ErrUnlocked}, {isInvalid, engine.ErrInvalid},
	{isForeign, engine.ErrForeignKey}, {isDeadlock, engine.ErrDeadlock}, {isClosed, engine.ErrClosed},
	{isContext, context.Canceled}, {isContext, context.DeadlineExceeded},
}

// classify says what err is, and in its words if that is not enough.
func classify(err error) (c classes, text string) {
	if err == nil {
		return 0, ""
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			c |= s.class
		}
	}
	if c == 0 {
		c = isOther
	}
	if c&(isRefused|isInvalid|isForeign|isDeadlock|isClosed|isOther) != 0 {
		text = err.Error()
		text = text[:min(len(text), 500)] // a record must fit into what a pipe takes in one piece
	}
	return c, text
}
