package engine

import (
	"runtime/debug"
	"slices"
	"time"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// Observer is told of every request for a lock and of the end of every hold, for metrics and traces. Functions that are
// nil are not called.
//
// A function is called on the goroutine that made a blocking call, before the call returns: Granted and Failed by Lock, for
// instance, and Ended by Unlock, after the release was sent. It is called on the engine's callback workers for an asynchronous
// call, and for a hold that did not end by a call. So a function may block, but then delays that caller, and it must be
// safe for concurrent use. Granted is called before Ended for the same hold; there is no other order. A panic is treated
// as one of a callback: it is logged and nothing else happens. After Close, calls for the holds that it ended may still
// come.
//
// Every kind is observed except latches, which grant nothing. A Semaphore has no holds, so only Granted and Failed are
// called. A call of a MultiLock or a QuorumLock is observed as one, and the locks that it takes for that are not.
type Observer struct {
	Granted func(Grant)   // a request was granted
	Failed  func(Failure) // a call for a lock ended with an error
	Ended   func(End)     // a hold ended
}

// Observers makes one Observer of several, for instance of metrics and traces. Each is told in this order, also when one
// before it panicked. Those that are nil are left out; of none it is nil.
func Observers(all ...*Observer) *Observer {
	var told *Observer
	for _, o := range all {
		switch {
		case o == nil:
		case told == nil:
			told = o
		default:
			told = &Observer{both(told.Granted, o.Granted), both(told.Failed, o.Failed), both(told.Ended, o.Ended)}
		}
	}
	return told
}

// both calls first and then second.
func both[T any](first, second func(T)) func(T) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(v T) {
		defer second(v)
		first(v)
	}
}

// Grant is a request that was granted.
type Grant struct {
	Name     string // as it was given
	Kind     Kind
	Waited   time.Duration // from the call to the grant; of an asynchronous call, until its callbacks run
	HandedOn bool          // another caller of this process passed the lock on, or reads beside this one; Stats.Handoffs counts these
	Reentry  bool          // its Owner held the lock already
}

// Failure is a call for a lock that ended with an error.
type Failure struct {
	Name   string // as it was given
	Kind   Kind
	Waited time.Duration // from the call to the error
	Err    error         // what the call returned
}

// End is the end of a hold.
type End struct {
	Name string // as it was given
	Kind Kind
	Held time.Duration // since the grant
	Err  error         // the hold's Err: ErrUnlocked, ErrLost, ErrMaxHold, or one that Is ErrLost and ErrClosed
}

// observation is one request that is observed; the zero value: nobody observes.
type observation struct {
	handle
	by    *Observer // nil: nobody observes
	began gate.Time

	handedOn, reentry bool
}

// observe begins a request.
func (of *handle) observe(opts []LockOption) (o observation) {
	if by := of.e.opts.Observer; by != nil && !slices.Contains(opts, asPart) {
		o = observation{handle: *of, by: by, began: of.e.clock.Now()}
	}
	return o
}

// asked notes how a request was granted. Its answer has come.
func (o *observation) asked(w *gate.Waiter) { o.handedOn, o.reentry = w.HandedOn, w.Reentry }

// done tells how a request ended; h is nil if it was not granted, or has no hold.
func (o *observation) done(h *Hold, err error) {
	if o.by == nil {
		return
	}
	now := o.e.clock.Now()
	waited := now - o.began
	switch {
	case err != nil && o.by.Failed != nil:
		o.e.tell(func() { o.by.Failed(Failure{o.name, o.kind.text(), waited, err}) })
	case err == nil && o.by.Granted != nil:
		o.e.tell(func() { o.by.Granted(Grant{o.name, o.kind.text(), waited, o.handedOn, o.reentry}) })
	}
	if h != nil {
		observedEndOf(h).wasGranted(now)
	}
}

// tell calls the Observer.
func (e *Engine) tell(call func()) {
	defer func() {
		if p := recover(); p != nil {
			e.callbacks.HandlePanic(&futures.PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	call()
}

// observed has the answer of an asynchronous request told; w is its waiter, nil if it never was one.
func observed[T any](o observation, f *futures.Future[T], w *gate.Waiter) *futures.Future[T] {
	if o.by == nil {
		return f
	}
	told := o // o itself would be allocated for every request
	f.Then(func(grant T, err error) {
		if err == nil && w != nil { // otherwise the loop may still have it
			told.asked(w)
		}
		h, _ := any(grant).(*Hold)
		told.done(h, err)
	})
	return f
}
