package engine

import (
	"context"
	"math"
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// LockOption changes one call. The options are [WithLease], [WithMinHold], [WithWait], [WithFailFast], [WithQueue], [WithOwner], [WithNote]
// and [WithAlive]. The zero value is [ErrInvalid].
type LockOption struct {
	which optionKind
	value int64
	note  string
	alive *liveness
}

type optionKind uint8

const (
	noOption optionKind = iota
	leaseOption
	waitOption
	ownerOption
	minHoldOption
	failFastOption
	queueOption
	partOption
	limitOption
	noteOption
	aliveOption
)

// asPart is the option of calls that a MultiLock or a QuorumLock makes: an Observer is told of the whole alone.
var asPart = LockOption{which: partOption}

// asLatePart is asPart for a hold of that age: MaxHold counts from the beginning of the whole.
func asLatePart(age time.Duration) LockOption {
	return LockOption{which: partOption, value: int64(age)}
}

func (l LockOption) isPart() bool { return l.which == partOption }

// The bounds of a lease. Below 10 ms, the margin that makes a deadline safe would use up the lease.
const (
	MinLease = 10 * time.Millisecond
	MaxLease = 30 * 24 * time.Hour
)

// longest is 146 years: an instant of the clock plus longest does not overflow.
const longest time.Duration = 1 << 62

// WithLease gives the hold a fixed lease: the watchdog does not renew it, and it ends by itself. From [MinLease] to
// [MaxLease], rounded up to whole milliseconds, the unit of Redis; otherwise the call fails with [ErrInvalid]. Default:
// the watchdog renews the hold by [Options].Lease.
func WithLease(d time.Duration) LockOption { return LockOption{which: leaseOption, value: int64(d)} }

// WithWait makes a waiting call fail with [ErrWaitTimeout] after d, which must be positive. It costs no timer and may
// be up to 25 ms late. A call that does not wait fails with [ErrInvalid]. Default: the call waits until its context
// ends.
func WithWait(d time.Duration) LockOption { return LockOption{which: waitOption, value: int64(d)} }

// WithFailFast makes a waiting call fail with [ErrUnavailable] while Redis is known to be out of reach, in a cluster the master of the name:
// at once, with [ErrNotSent], if it is so when the call is made, and with [ErrUncertain] as soon as the engine finds out while the call
// waits. Nothing is held, and the call may be repeated. It fails also behind another caller of this process, but a re-entry by [WithOwner]
// that needs no answer of Redis is granted. A MultiLock fails if a member does, a QuorumLock if no majority can be reached. It says nothing
// to a call that does not wait, which behaves so anyway. A server that stands still is known to be out of reach after Redis.ConnWriteTimeout
// and one attempt to connect anew, a few seconds: bound the call by [WithWait] or a context, too. Default: the call waits for the end of
// an outage as long as they say.
func WithFailFast() LockOption { return LockOption{which: failFastOption} }

// WithQueue makes a waiting call fail with [ErrOverloaded], at once and without asking Redis, if n callers of this process wait for the name
// already, whatever their options are. A caller waits from its call until it is granted, so also while Redis is asked for the first time.
// n is from 1 to [Options].MaxWaitersPerName, otherwise the call fails with [ErrInvalid]: TryLock does not wait at all, and a call that
// does not wait heeds no queue. It applies to every member of a MultiLock, and to a QuorumLock as a whole. Default: MaxWaitersPerName.
func WithQueue(n int) LockOption { return LockOption{which: queueOption, value: int64(n)} }

// WithOwner makes the call in the name of o. It is the only way to re-enter a lock: a caller is granted at once if o
// holds it, and it is free when all holds of o are unlocked. Default: every call is its own owner.
func WithOwner(o Owner) LockOption { return LockOption{which: ownerOption, value: int64(o.id)} }

// WithMinHold keeps the name taken until d after the grant, even if it is unlocked earlier, if the process ends, or if the
// engine is closed. It is for a job that is to run once although several machines start it and their clocks differ. d is from 1 ms to
// [MaxLease], rounded up to whole milliseconds, and with [WithLease] at most the lease; otherwise the call fails with
// [ErrInvalid].
//
// Unlock returns as soon as Redis has the rest of d as the key's TTL. The name is then no hold of anybody, its owner field
// ends with ":detached", and nobody is handed it before its time; ForceUnlock frees it. A grant by WithMinHold is never
// handed on from another caller of this process. It is for a Mutex of any kind but the Reader and the Writer of a RWMutex;
// other calls fail with ErrInvalid. Default: the name is free as soon as it is unlocked.
func WithMinHold(d time.Duration) LockOption {
	return LockOption{which: minHoldOption, value: int64(d)}
}

// Owner is an identity for re-entry. Owners are comparable. The zero Owner is invalid.
type Owner struct{ id uint64 }

var lastOwner atomic.Uint64

// NewOwner returns an owner that differs from all others in this process. Calls with one Owner count as one
// holder: goroutines that share it do not exclude each other, and keep others out for as long as their holds overlap.
func NewOwner() Owner { return Owner{lastOwner.Inc()} }

// demand is what the options of one call ask for.
type demand struct {
	lease   time.Duration
	minHold time.Duration
	wait    time.Duration
	age     time.Duration // of the hold of which it becomes a part
	owner   uint64
	queue   int32 // how many callers may wait for the name
	limit   int64 // 0: none
	note    string
	alive   *liveness
	fixed   bool
	part    bool // the call is one of a lock of several
	fast    bool // it does not wait while Redis cannot be reached
}

// read gathers the options of a call for a lock of that kind. try: the call does not wait.
func (o *Options) read(opts []LockOption, try bool, kind kindIndex) (demand, error) {
	most := min(o.MaxWaitersPerName, math.MaxInt32)
	d := demand{lease: o.Lease, queue: int32(most)}
	for _, opt := range opts {
		switch opt.which {
		case leaseOption:
			lease, err := wholeMillis(time.Duration(opt.value))
			if err != nil {
				return d, err
			}
			d.lease, d.fixed = lease, true
		case waitOption:
			d.wait = time.Duration(opt.value)
			if d.wait <= 0 {
				return d, invalid("a wait of %v: must be positive; TryLock does not wait", d.wait)
			}
			if try {
				return d, invalid("WithWait on a call that does not wait: use Lock")
			}
			d.wait = min(d.wait, longest)
		case ownerOption:
			if opt.value == 0 {
				return d, invalid("the zero Owner: make one with NewOwner")
			}
			d.owner = uint64(opt.value)
		case minHoldOption:
			d.minHold = time.Duration(opt.value)
			if d.minHold <= 0 || d.minHold > MaxLease {
				return d, invalid("a min hold of %v: must be positive and at most %v", d.minHold, MaxLease)
			}
			if !kind.detachable() {
				return d, invalid("WithMinHold on kind %s: only a mutex can stay taken", kind.text())
			}
			d.minHold = gate.CeilMillis(d.minHold)
		case failFastOption:
			d.fast = true
		case queueOption:
			if opt.value < 1 || opt.value > int64(most) {
				return d, invalid("a queue of %d: must be from 1 to MaxWaitersPerName, %d; TryLock does not wait", opt.value, most)
			}
			if !try {
				d.queue = int32(opt.value)
			}
		case partOption:
			d.age, d.part = time.Duration(opt.value), true
		case noteOption:
			if err := checkNote(opt.note); err != nil {
				return d, err
			}
			d.note = opt.note
		case aliveOption:
			if opt.alive.check == nil {
				return d, invalid("WithAlive without a check")
			}
			d.alive = opt.alive
		case limitOption:
			if err := checkCount("a limit", opt.value, 1, mostPermits); err != nil {
				return d, err
			}
			d.limit = opt.value
		default:
			return d, invalid("the zero LockOption")
		}
	}
	switch reentrant := d.owner != 0; {
	case d.fixed && d.minHold > d.lease:
		return d, invalid("a min hold of %v with a lease of %v: must not be longer", d.minHold, d.lease)
	case !kind.holds() && (d.fixed || reentrant || d.note != "" || d.alive != nil):
		return d, invalid("WithLease, WithOwner, WithNote or WithAlive on a name that has no owners")
	case kind == permitsIndex && d.note != "":
		return d, invalid("WithNote on permits: nothing would show it")
	case d.fixed && d.alive != nil:
		return d, invalid("WithAlive with WithLease: nobody renews a fixed lease")
	case kind == permitsIndex && reentrant:
		return d, invalid("WithOwner on permits: they cannot be re-entered")
	case kind == quorumIndex && reentrant:
		return d, invalid("a QuorumLock is not reentrant: WithOwner means nothing to it")
	}
	return d, nil
}

// until is when a request gives up; 0: never. One that asks only once waits for the answer for AnswerTimeout.
func (o *operation) until(ctx context.Context, try bool, wait time.Duration) gate.Time {
	o.wait = wait
	if try {
		wait = o.e.answerTime(ctx)
	}
	if wait <= 0 {
		return 0
	}
	return o.e.clock.Now() + wait
}

// answerTime returns how long a call waits for an answer of Redis; 0: until it comes, or until ctx's own deadline.
func (e *Engine) answerTime(ctx context.Context) time.Duration {
	if _, own := ctx.Deadline(); own {
		return 0
	}
	return e.patience
}

// wholeMillis rounds a lease up to whole milliseconds, and checks its bounds.
func wholeMillis(d time.Duration) (time.Duration, error) {
	if d < MinLease || d > MaxLease {
		return 0, invalid("a lease of %v: must be from %v to %v", d, MinLease, MaxLease)
	}
	return gate.CeilMillis(d), nil
}
