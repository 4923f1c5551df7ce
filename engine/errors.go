package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
)

// failure is a sentinel that belongs to a group, which errors.Is finds too.
type failure struct {
	text  string
	group error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.group }

// Errors of a lock that another owner has.
var (
	// ErrHeld means that another owner has the lock. Nothing changed in Redis. The caller may try again later, or wait
	// with Lock. If the owner's lease is known, errors.As finds a [HeldError].
	ErrHeld = errors.New("wheellock: held by another owner")
	// ErrWaitTimeout means that WithWait is over and nothing is held. The caller may ask again.
	//
	// The error says how long the call waited. It also says what was last known of the lock, as does the error of a wait that
	// ended with its context: it also Is [ErrHeld], with a [HeldError] for errors.As, if another owner had the lock;
	// [ErrRefused] if the server refused for a reason that may pass; [ErrNotReplicated] if too few replicas had the grant;
	// [ErrUncertain] if the answer was lost or came too late; and [ErrUnavailable] if there was no answer, with the reason if
	// Redis cannot be reached.
	ErrWaitTimeout = errors.New("wheellock: wait timed out")
)

// Errors that mean that Redis cannot serve the request. All are also ErrUnavailable.
var (
	// ErrUnavailable is the group of the errors below. By itself it ends a wait during which Redis never answered.
	ErrUnavailable = errors.New("wheellock: Redis cannot serve")
	// ErrNotSent means that the connection is known to be down. Nothing was sent and nothing changed in Redis. The
	// caller may repeat the call.
	ErrNotSent error = &failure{"wheellock: not sent, Redis cannot be reached", ErrUnavailable}
	// ErrUncertain means that a command was sent and its answer did not come, did not come in time
	// ([Options].AnswerTimeout), or came when the lease was already over. The caller holds nothing. The engine goes on
	// releasing until the lease has run out, so the caller may ask for the lock again. A change of a semaphore or latch
	// must not be repeated: the engine repeats it, but see [Semaphore.TrySetPermits] for those that set or add a number.
	ErrUncertain error = &failure{"wheellock: no answer from Redis, the outcome is unknown", ErrUnavailable}
	// ErrOverloaded means that [Options].MaxRequests or MaxWaitersPerName, or [WithQueue], is reached. Nothing was sent. The
	// caller should back off.
	ErrOverloaded error = &failure{"wheellock: too many requests wait already", ErrUnavailable}
	// ErrRefused means that the server refused the command; the error ends with the server message. Nothing changed in
	// Redis. Lock goes on asking if the reason can pass: READONLY, NOREPLICAS, OOM, MISCONF, LOADING, BUSY, CLUSTERDOWN
	// and so on. TryLock may be repeated for these. Other reasons, such as NOPERM, need an administrator.
	ErrRefused error = &failure{"wheellock: refused by Redis", ErrUnavailable}
	// ErrNotReplicated means that too few replicas acknowledged the grant in time ([Options].Replicas), or that it was not on
	// the server's disk in time ([Options].Fsync). The engine
	// releases it again. TryLock fails with it at once and may be repeated; Lock goes on asking, and the error of its
	// wait also Is ErrNotReplicated if that was the last answer.
	ErrNotReplicated error = &failure{"wheellock: too few replicas acknowledged, or not synced to disk in time", ErrUnavailable}
)

// Errors of a hold that has ended.
var (
	// ErrLost means that the lease ended, or the key was deleted, while the lock was held. The caller must stop the
	// work. Only a fencing token protects from writes that are already under way.
	ErrLost = errors.New("wheellock: lock lost while held")
	// ErrMaxHold is [ErrLost] because [Options].MaxHold was over. The caller must stop the work.
	ErrMaxHold error = &failure{"wheellock: held for longer than MaxHold", ErrLost}
	// ErrUnlocked means that the hold was unlocked before. There is nothing left to do.
	ErrUnlocked = errors.New("wheellock: unlocked already")
)

// Errors caused by the caller. Repeating the call does not help.
var (
	// ErrInvalid means a name, lease, option or use that cannot be right. Nothing was sent.
	ErrInvalid = errors.New("wheellock: invalid")
	// ErrForeignKey means that the key of this name holds something that is not a lock of this kind. The engine did not
	// touch it.
	ErrForeignKey = errors.New("wheellock: the key exists and is not this kind of lock")
	// ErrDeadlock means that the caller would wait for itself. Either its Owner holds a read lock and asks for the writer: it must unlock
	// the read lock first. Or a waiting call has the context of a hold ([Hold.Context], [Do]) of the same name, or one derived from it, and
	// not the Owner of that hold: both must be locked by [WithOwner] with the same one.
	ErrDeadlock = errors.New("wheellock: would wait for itself")
)

// ErrClosed means that the engine was closed. Open another one.
var ErrClosed = errors.New("wheellock: engine closed")

// errClosedHold is how a hold ends when its engine is closed.
var errClosedHold error = &failure{"wheellock: lock lost while held: engine closed", join2{ErrLost, ErrClosed}}

// HeldError is an [ErrHeld] with what is known of the owner. It Is ErrHeld; errors.As gives the fields.
type HeldError struct {
	Name string        // of the lock
	TTL  time.Duration // what the owner's lease had left, if it does not renew it; negative: it has no end
	Note string        // of the owner, if the call had a note itself: see [WithNote]
	kind kindIndex     // of what was asked for

	absent bool // no permits are there, free or held
}

// Error names the lock, the time that its lease has left, and the note of its owner.
func (h *HeldError) Error() string {
	if h.kind.holds() && h.kind != permitsIndex {
		return fmt.Sprintf("wheellock: %s is %s", quote(h.Name), h.words())
	}
	return fmt.Sprintf("wheellock: %s: %s", quote(h.Name), h.words())
}

// words says what is known without the name.
func (h *HeldError) words() string {
	switch {
	case h.kind == latchIndex:
		return "it is not open"
	case h.absent:
		return "it was never given any permits, or Redis has lost them"
	case h.kind == semaphoreIndex, h.kind == permitsIndex && h.TTL < 0:
		return "too few permits are free"
	case h.kind == permitsIndex:
		return fmt.Sprintf("too few permits are free, the next lease ends in %v", h.TTL.Round(time.Millisecond))
	case h.TTL < 0:
		return "held by another owner, without an end that is known"
	}
	text := fmt.Sprintf("held by another owner, lease ends in %v", h.TTL.Round(time.Millisecond))
	if h.Note != "" {
		text += ", for " + h.Note
	}
	return text
}

// Is makes a HeldError an ErrHeld.
func (h *HeldError) Is(target error) bool { return target == ErrHeld }

// unmet is the error of a wait that ended without a grant: why it ended, and what was last known.
type unmet struct {
	why, last error
	words     string        // text of what was last known
	wait      time.Duration // that of WithWait; 0: none
}

func (u *unmet) Error() string {
	text := trim(u.why.Error())
	if u.why == ErrWaitTimeout {
		text += fmt.Sprintf(" after %v", u.wait)
	}
	return text + ": " + u.words
}

func (u *unmet) Unwrap() []error { return []error{u.why, u.last} }

// unmet returns the error of a wait for t that ended for that reason.
func (o *operation) unmet(why error, out gate.Outcome) error {
	words := wordsOf(out)
	switch {
	case out.Last == gate.Taken:
		held := o.held(out)
		return &unmet{why, held, held.words(), o.wait}
	case out.Last == gate.Down && words == "":
		return &unmet{why, ErrUnavailable, "no answer from Redis", o.wait}
	case out.Last == gate.Down:
		return &unmet{why, ErrUnavailable, "Redis cannot be reached: " + words, o.wait}
	}
	last := sentinels[out.Last]
	return &unmet{why, last, described(last, words), o.wait}
}

func (o *operation) held(out gate.Outcome) *HeldError {
	return &HeldError{Name: o.name, TTL: out.TTL, kind: o.kind, absent: out.Absent}
}

// unmetAfter returns the error of a wait that ended after last had been the last answer.
func (h *handle) unmetAfter(why, last error, wait time.Duration) error {
	return &unmet{why, last, trim(h.bare(last).Error()), wait}
}

// bare is an error that does not say once more what is to be locked.
func (h *handle) bare(err error) error {
	if op, is := err.(*opError); is && op.name == h.name {
		return &opError{err: op.err, words: op.words, passes: op.passes}
	}
	return err
}

// opError says what was being done to which name. It is formatted only when it is read.
type opError struct {
	doing  string // "lock", "unlock", ...; empty: another error around it says that, and the name
	name   string
	err    error
	words  string // the server message, or why there is none
	passes bool   // the reason can pass by itself
}

func (o *opError) Error() string {
	if o.doing == "" {
		return "wheellock: " + described(o.err, o.words)
	}
	return fmt.Sprintf("wheellock: %s %s: %s", o.doing, quote(o.name), described(o.err, o.words))
}

func (o *opError) Unwrap() error { return o.err }

// Is makes it errPasses if waiting may help.
func (o *opError) Is(target error) bool { return o.passes && target == errPasses }

// described returns the text of an error with words, which say what is known besides.
func described(err error, words string) string {
	text := trim(err.Error())
	if err == ErrForeignKey {
		if words != "" {
			text += " (" + words + ")"
		}
		words = "take another name, or a prefix by Options.NameMapper; if it is another library's lock, see docs/MIGRATING.md"
	}
	if words == "" {
		return text
	}
	return text + ": " + words
}

// unheard is the error of a call that was given up, because of over, before its answer came.
func (o *operation) unheard(over error) error {
	return &opError{doing: o.doing, name: o.name, err: join2{ErrUncertain, over}, words: over.Error()}
}

// trim removes this package's prefix from an error that follows another one.
func trim(text string) string { return strings.TrimPrefix(text, "wheellock: ") }

// following is an error without this package's prefix, and without a password that a server may quote.
type following struct{ error }

func (f following) Error() string { return rediserr.WithoutArguments(trim(f.error.Error())) }
func (f following) Unwrap() error { return f.error }

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
	if out.Why == gate.Granted {
		return nil
	}
	err := sentinels[out.Why]
	if out.Why == gate.Doubtful && out.Last == gate.Refused {
		err = errRefusing
	}
	return &opError{doing: doing, name: name, err: err, words: wordsOf(out), passes: out.Passes}
}

// wordsOf returns the server message of an outcome, or the name of its fault.
func wordsOf(out gate.Outcome) string {
	if out.Fault != 0 && out.ServerMessage == "" {
		return out.Fault.String()
	}
	return out.ServerMessage
}

// errPasses marks errors for which waiting may help. Only errors.Is sees it.
var errPasses = errors.New("wheellock: for now")

// errTooLate is the error for a grant that came too late. The engine releases it.
var errTooLate error = &failure{"wheellock: too late", ErrUncertain}

// errRefusing is the error for what Redis has refused until the caller's time was over. The engine asks again.
var errRefusing error = &failure{"wheellock: refused by Redis so far, the outcome is unknown", join2{ErrUncertain, ErrRefused}}

// join2 is two errors in one, without text of its own.
type join2 [2]error

func (j join2) Error() string   { return j[0].Error() }
func (j join2) Unwrap() []error { return j[:] }

var sentinels = map[gate.Why]error{
	gate.Taken: ErrHeld, gate.Down: ErrNotSent, gate.Doubtful: ErrUncertain, gate.Refused: ErrRefused, gate.Foreign: ErrForeignKey,
	gate.Lost: ErrLost, gate.TooLong: ErrMaxHold, gate.Unlocked: ErrUnlocked, gate.Closed: ErrClosed,
	gate.Overloaded: ErrOverloaded, gate.Deadlock: ErrDeadlock, gate.NotReplicated: ErrNotReplicated, gate.TooLate: errTooLate,
	gate.OtherKind:  fmt.Errorf("%w: the name is in use as another kind of lock", ErrInvalid),
	gate.AliasLives: fmt.Errorf("%w: the name is in use with braces around it, or without, and both have the same keys", ErrInvalid),
}

// endedBy returns the error of a context that has ended: it Is both its Err and its Cause.
func endedBy(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) { // and not ==, which panics for some errors of a user's context
		return cause
	}
	return join2{cause, err}
}
