package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// failure is a sentinel that belongs to a group, which errors.Is finds too.
type failure struct {
	text  string
	group error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.group }

// Another owner has the name.
var (
	// ErrHeld means that nothing changed in Redis: another owner has the name. Try later. HeldError has more.
	ErrHeld = errors.New("wheellock: held by another owner")
	// ErrWaitTimeout means that WithWait is over and nothing is held. It says besides what was last known, as the error of
	// a wait that the end of its context has ended: it is also ErrHeld, with a HeldError for errors.As, when the last answer
	// of Redis was "taken", ErrNotReplicated when too few replicas had it, ErrRefused when the server said no for a reason
	// that may pass, ErrUncertain when the answer was lost or came too late, and ErrUnavailable when there was none.
	ErrWaitTimeout = errors.New("wheellock: waited as long as was asked for")
)

// Redis is ill, or so it seems from here.
var (
	// ErrUnavailable is the group of the errors below.
	ErrUnavailable = errors.New("wheellock: Redis cannot serve")
	// ErrNotSent means that nothing changed in Redis: the connection is known to be down. Safe to repeat.
	ErrNotSent error = &failure{"wheellock: not sent, Redis cannot be reached", ErrUnavailable}
	// ErrUncertain means that the command left and its answer did not come, not in time (Options.AnswerTimeout), or when the
	// lease was over already. Nothing is held; the engine keeps cleaning up.
	ErrUncertain error = &failure{"wheellock: sent, answer lost", ErrUnavailable}
	// ErrOverloaded means that nothing was sent: MaxRequests or MaxWaitersPerName is reached.
	ErrOverloaded error = &failure{"wheellock: too many requests wait already", ErrUnavailable}
	// ErrRefused means that the server said no, in the words that the error ends with; nothing changed. Lock goes on
	// asking when the reason can pass by itself: READONLY, NOREPLICAS, OOM, MISCONF, LOADING, BUSY, CLUSTERDOWN and so on.
	ErrRefused error = &failure{"wheellock: refused by Redis", ErrUnavailable}
	// ErrNotReplicated means that too few replicas had the grant in time (Options.Replicas); it is released again.
	// TryLock says so at once; Lock goes on asking, and an ErrWaitTimeout is also this when that was the last answer.
	ErrNotReplicated error = &failure{"wheellock: not enough replicas have it", ErrUnavailable}
)

// A hold ended.
var (
	// ErrLost means that the lease ended, or the key is gone, while the lock was held. Stop the work; only a
	// fencing token protects what is still on its way.
	ErrLost = errors.New("wheellock: lock lost while held")
	// ErrMaxHold is ErrLost because Options.MaxHold was over.
	ErrMaxHold error = &failure{"wheellock: held for longer than MaxHold", ErrLost}
	// ErrUnlocked means that the holder has unlocked it already.
	ErrUnlocked = errors.New("wheellock: unlocked already")
)

// Yours to fix.
var (
	// ErrInvalid means a name, lease, option or use that cannot be right. Nothing was sent.
	ErrInvalid = errors.New("wheellock: invalid")
	// ErrForeignKey means that the key of this name holds something that is no lock of this kind. It was not touched.
	ErrForeignKey = errors.New("wheellock: the key holds something else")
	// ErrDeadlock means that the caller's Owner would wait for itself: it reads, and asks for the writer.
	ErrDeadlock = errors.New("wheellock: would wait for itself")
)

// ErrClosed means that the engine was closed.
var ErrClosed = errors.New("wheellock: engine closed")

// errClosedHold is how a hold ends when its engine is closed.
var errClosedHold = fmt.Errorf("%w: %w", ErrLost, ErrClosed)

// HeldError is ErrHeld with what is known of the owner.
type HeldError struct {
	Name string        // of the lock
	TTL  time.Duration // what the owner's lease had left, if it does not renew it; negative: it has no end
}

// Error says who waits for how long.
func (e *HeldError) Error() string {
	if e.TTL < 0 {
		return fmt.Sprintf("wheellock: %s is taken, and has no end that is known", quote(e.Name))
	}
	return fmt.Sprintf("wheellock: %s is held by another owner, lease ends in %v", quote(e.Name), e.TTL.Round(time.Millisecond))
}

// Is makes a HeldError an ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// unmet is a wait that ended without what it was for: why it ended, and what was last known.
type unmet struct {
	why, last error
	words     string // of what was last known
}

func (e *unmet) Error() string   { return trim(e.why.Error()) + ": " + e.words }
func (e *unmet) Unwrap() []error { return []error{e.why, e.last} }

// unmet is a wait for t that ended for that reason. The words for "taken" are those of its kind.
func (t *operation) unmet(why error, out gate.Outcome) error {
	switch out.Last {
	case gate.Taken:
		return &unmet{why, &HeldError{Name: t.name, TTL: out.TTL}, t.taken(out.TTL)}
	case gate.Refused, gate.TooLate:
		sentinel := sentinels[out.Last]
		return &unmet{why, sentinel, trim(sentinel.Error()) + ": " + wordsOf(out)}
	case gate.TooFew, gate.Doubtful:
		return unmetAfter(why, sentinels[out.Last])
	}
	return &unmet{why, ErrUnavailable, "Redis did not answer"}
}

func (t *operation) taken(ttl time.Duration) string {
	switch {
	case t.kind == gate.LatchKind:
		return "it is not open"
	case t.kind == gate.SemaphoreKind, t.kind == gate.PermitKind && ttl < 0:
		return "too few permits are free"
	case t.kind == gate.PermitKind:
		return fmt.Sprintf("too few permits are free, the next lease ends in %v", ttl.Round(time.Millisecond))
	case ttl < 0:
		return "held by another owner, without an end that is known"
	}
	return fmt.Sprintf("held by another owner, lease ends in %v", ttl.Round(time.Millisecond))
}

// unmetAfter is a wait that ended after an error had been the last answer.
func unmetAfter(why, last error) error { return &unmet{why, last, trim(last.Error())} }

// opError says what was being done to which name. It is formatted only when it is read.
type opError struct {
	doing  string // "lock", "unlock", ...
	name   string
	err    error
	words  string // the server's
	passes bool   // the reason can pass by itself
}

func (e *opError) Error() string {
	text := fmt.Sprintf("wheellock: %s %s: %s", e.doing, quote(e.name), trim(e.err.Error()))
	if e.words != "" {
		text += ": " + e.words
	}
	return text
}

func (e *opError) Unwrap() error { return e.err }

// Is makes it errPasses when waiting may help.
func (e *opError) Is(target error) bool { return e.passes && target == errPasses }

// trim takes our own prefix off an error that is put behind another one.
func trim(text string) string {
	const prefix = "wheellock: "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}

// quote makes a name fit for a log: names can be anything, and long.
func quote(name string) string {
	const most = 64
	if len(name) <= most {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q...", name[:most])
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// errorOf turns an outcome into the error of the contract.
func errorOf(doing, name string, out gate.Outcome) error {
	switch out.Why {
	case gate.Granted:
		return nil
	case gate.Taken:
		return &HeldError{Name: name, TTL: out.TTL}
	}
	return &opError{doing: doing, name: name, err: sentinels[out.Why], words: wordsOf(out), passes: out.Passes}
}

// wordsOf is what is to be said besides the kind of the outcome.
func wordsOf(out gate.Outcome) string {
	if out.Fault != 0 && out.ServerMessage == "" {
		return out.Fault.String()
	}
	return out.ServerMessage
}

// errPasses is what waiting may help against. Only errors.Is sees it.
var errPasses = errors.New("wheellock: for now")

// errTooLate is a grant that could not be handed out: it is being given back.
var errTooLate error = &failure{"wheellock: too late", ErrUncertain}

// join2 is two errors in one, without text of its own.
type join2 [2]error

func (j join2) Error() string   { return j[0].Error() }
func (j join2) Unwrap() []error { return j[:] }

var sentinels = map[gate.Why]error{
	gate.Down: ErrNotSent, gate.Doubtful: ErrUncertain, gate.Refused: ErrRefused, gate.Foreign: ErrForeignKey,
	gate.Lost: ErrLost, gate.TooLong: ErrMaxHold, gate.Unlocked: ErrUnlocked, gate.Closed: ErrClosed,
	gate.Overloaded: ErrOverloaded, gate.Deadlock: ErrDeadlock, gate.TooFew: ErrNotReplicated, gate.TooLate: errTooLate,
	gate.OtherKind:  fmt.Errorf("%w: the name is in use as another kind of lock", ErrInvalid),
	gate.AliasLives: fmt.Errorf("%w: the name is in use with braces around it, or without, and both have the same keys", ErrInvalid),
}

// endedBy is the error of a context that has ended: both its Err and its Cause.
func endedBy(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == cause {
		return err
	}
	return join2{cause, err}
}

func isLost(err error) bool { return errors.Is(err, ErrLost) }
