package chaos

import (
	"context"
	"errors"
	"strings"

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
	name  string
}{
	{isHeld, engine.ErrHeld, "held"}, {isWaitTimeout, engine.ErrWaitTimeout, "wait timeout"}, {isNotSent, engine.ErrNotSent, "not sent"},
	{isUncertain, engine.ErrUncertain, "uncertain"}, {isRefused, engine.ErrRefused, "refused"}, {isOverloaded, engine.ErrOverloaded, "overloaded"},
	{isLost, engine.ErrLost, "lost"}, {isUnlocked, engine.ErrUnlocked, "unlocked"}, {isInvalid, engine.ErrInvalid, "invalid"},
	{isForeign, engine.ErrForeignKey, "foreign key"}, {isDeadlock, engine.ErrDeadlock, "deadlock"}, {isClosed, engine.ErrClosed, "closed"},
	{isContext, context.Canceled, "cancelled"}, {isContext, context.DeadlineExceeded, "context deadline"},
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
	}
	return c, text
}

func (c classes) String() string {
	var names []string
	for _, s := range sentinels {
		if c&s.class != 0 {
			c &^= s.class
			names = append(names, s.name)
		}
	}
	if c != 0 {
		names = append(names, "something else")
	}
	return strings.Join(names, "+")
}
