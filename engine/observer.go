package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// Observer is told of every request for a lock and of the end of every hold, for metrics and traces. Functions that are
// nil are not called.
//
// A function is called on the goroutine that made a blocking call, before the call returns: Granted and Failed by Lock, for
// instance, and Ended by Unlock, after the release was sent. It is called on the engine's callback workers for an asynchronous
// call, for a hold that did not end by a call, and for Part and Forgotten. Risk has a goroutine of its own. So a function may block, but then delays that
// caller, and it must be safe for concurrent use. Granted is called before Ended for the same hold, and Risk for one after the other;
// there is no other order. A panic is treated as one of a callback: it is logged and nothing else happens. After Close, calls for the holds
// that it ended may still come.
//
// Every kind is observed except latches, which grant nothing. A Semaphore has no holds, so only Granted and Failed are
// called. A call of a MultiLock or a QuorumLock is observed as one, and the locks that it takes for that are not, but for Risk.
type Observer struct {
	Granted func(Grant)   // a request was granted
	Failed  func(Failure) // a call for a lock ended with an error
	Ended   func(End)     // a hold ended
	Part    func(Part)    // the hold of a QuorumLock lacks a server, or has it again
	Risk    func(Risk)    // the renewal of a hold is overdue, or came after all

	Forgotten func(Forgotten) // a hold was forgotten: with Options.OnForgotten
}

// Observers makes one Observer of several, for instance of metrics and traces. Each is told in this order, also when one
// before it panicked. Those that are nil are left out; of none it is nil.
func Observers(all ...*Observer) *Observer {
	var joined *Observer
	for _, o := range all {
		switch {
		case o == nil:
		case joined == nil:
			joined = o
		default:
			joined = &Observer{both(joined.Granted, o.Granted), both(joined.Failed, o.Failed), both(joined.Ended, o.Ended), both(joined.Part, o.Part), both(joined.Risk, o.Risk), both(joined.Forgotten, o.Forgotten)}
		}
	}
	return joined
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

// Part says that the hold of a [QuorumLock] has lost its part on one of the servers, or did not get it because the server was
// down, too late or held by another owner; or, with a nil Err, that it has that part now. The hold goes on meanwhile. A
// part that was granted when the server was first asked is not told.
type Part struct {
	Name   string // as it was given
	Kind   Kind
	Server int   // the place of its engine among those of Quorum, from 0
	Held   int   // on how many servers the hold stands now
	All    int   // how many servers there are
	Err    error // why the server has no part; nil: it has one again
}

// observation is one request that is observed; the zero value: nobody observes.
type observation struct {
	handle
	by    *Observer // nil: nobody observes
	began gate.Time

	handedOn, reentry bool
}

// observe begins a request.
func (h *handle) observe(opts []LockOption) (o observation) {
	if by := h.e.opts.Observer; by != nil && (by.Granted != nil || by.Failed != nil || by.Ended != nil) && h.kind != latchIndex && !slices.ContainsFunc(opts, LockOption.isPart) {
		o = observation{handle: *h, by: by, began: h.e.clock.Now()}
	}
	return o
}

// asked notes how a request was granted. Its answer has come.
func (o *observation) asked(w *gate.Waiter) {
	o.handedOn, o.reentry = w.Way == gate.HandedOn, w.Way == gate.Reentry
}

// notifyDone notifies the Observer of how a request ended; h is nil if it was not granted, or has no hold.
func (o *observation) notifyDone(h *Hold, err error) {
	if o.by == nil {
		return
	}
	now := o.e.clock.Now()
	waited := now - o.began
	switch {
	case err != nil && o.by.Failed != nil:
		o.e.notify(func() { o.by.Failed(Failure{o.name, o.kind.text(), waited, err}) })
	case err == nil && o.by.Granted != nil:
		o.e.notify(func() { o.by.Granted(Grant{o.name, o.kind.text(), waited, o.handedOn, o.reentry}) })
	}
	if h != nil {
		observedEndOf(h.inner()).noteGranted(now)
	}
}

// notify calls the Observer.
func (e *Engine) notify(call func()) {
	defer func() {
		if p := recover(); p != nil {
			e.callbacks.HandlePanic(&futures.PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	call()
}

// observed has the Observer notified of the answer of an asynchronous request; w is its waiter, nil if it never was one.
func observed[T any](o observation, f *futures.Future[T], w *gate.Waiter) *futures.Future[T] {
	if o.by == nil {
		return f
	}
	kept := o // o itself would be allocated for every request
	f.Then(func(grant T, err error) {
		if err == nil && w != nil { // otherwise the loop may still have it
			kept.asked(w)
		}
		h, _ := any(grant).(*Hold)
		kept.notifyDone(h, err)
	})
	return f
}

// observedHold is a Hold with what an Observer is told at its end, in one allocation.
type observedHold struct {
	Hold
	ending observedEnd
}

func newObservedHold(e *Engine, name string, kind kindIndex) *Hold {
	o := &observedHold{Hold: Hold{e: e, name: name, kind: kind}}
	o.core.By, o.ending.hold = o, &o.Hold
	return &o.Hold
}

// End is called by the loop when the hold has ended. It implements gate.Ender.
func (o *observedHold) End(why gate.Why) { o.finish(why) }

// Wanted is called by the loop when somebody else waits. It implements gate.Wanter; that of Hold, which it hides, does not.
func (o *observedHold) Wanted() { o.notifyWanted() }

// Told implements gate.Teller.
func (o *observedHold) Told() bool { return o.toldIDs() }

// The loop takes either for a gate.Wanter without looking, and for a gate.Teller if it can.
var (
	_, _ gate.Wanter = (*held)(nil), (*observedHold)(nil)
	_, _ gate.Teller = (*held)(nil), (*observedHold)(nil)
)

// observedEnd is the end of a hold, for the Observer, and the task that tells of it. Two things come first, in any order: that
// Granted was told, and that the hold has ended. The second of them tells. The part of a MultiLock has no Granted, so
// nobody tells of its end.
type observedEnd struct {
	hold    *Hold
	granted gate.Time
	ended   gate.Time
	first   atomic.Bool // one of the two was there
}

// observedEndOf returns what the Observer is to be told of the end of the hold; nil: nobody observes it.
func observedEndOf(h *Hold) *observedEnd {
	switch by := h.core.By.(type) {
	case *observedHold:
		return &by.ending
	case *keptHold:
		if h.e.observesEnds() {
			return &by.ending
		}
	case *composite:
		if h.e.observesEnds() {
			return &by.ending
		}
	}
	return nil
}

func (e *Engine) observesEnds() bool { return e.opts.Observer != nil && e.opts.Observer.Ended != nil }

// noteGranted is called after the Observer's Granted.
func (o *observedEnd) noteGranted(at gate.Time) {
	if o != nil {
		o.granted = at
		o.notify()
	}
}

// noteEnded notes when the hold has ended. notify or notifySoon is called next.
func (o *observedEnd) noteEnded(at gate.Time) {
	if o != nil {
		o.ended = at
	}
}

// notify reports the end to the Observer on this goroutine, notifySoon on a callback worker.
func (o *observedEnd) notify() {
	if o != nil && o.first.Swap(true) {
		o.Run()
	}
}

func (o *observedEnd) notifySoon() {
	if o != nil && o.first.Swap(true) {
		o.hold.e.callbacks.Go(o)
	}
}

// Run tells of the end. It implements futures.Task.
func (o *observedEnd) Run() {
	h := o.hold
	h.e.notify(func() { h.e.opts.Observer.Ended(End{h.name, h.kind.text(), max(o.ended-o.granted, 0), h.cause()}) })
}

// partChange is a Part, and the task that notifies the Observer of it.
type partChange struct {
	e *Engine
	Part
}

// notifySoon calls the Observer on a callback worker.
func (p *partChange) notifySoon() {
	if by := p.e.opts.Observer; by != nil && by.Part != nil {
		p.e.callbacks.Go(p)
	}
}

// Run implements futures.Task.
func (p *partChange) Run() { p.e.notify(func() { p.e.opts.Observer.Part(p.Part) }) }

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
//   - "failed": anything else, such as a context with an Err that is none of package context.
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
