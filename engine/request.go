package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// errand is what a call is for, and how its errors are told.
type errand struct {
	e     *Engine
	name  string
	doing string // "lock", "acquire", ...
	kind  gate.Kind
}

func (t *errand) failed(err error) error { return &opError{doing: t.doing, name: t.name, err: err} }

// send brings a waiter to the loop, within bounds. A ctx that has ended sends nothing, also when it ended
// while NameMapper made the key.
func (t *errand) send(ctx context.Context, w *gate.Waiter) error {
	e := t.e
	key, err := e.key(t.name, t.kind)
	if err == nil && ctx.Err() != nil {
		err = endedBy(ctx)
	}
	if err != nil {
		return t.failed(err)
	}
	if e.waiting.Add(1) > int64(e.opts.MaxRequests) {
		e.waiting.Add(-1)
		e.overloaded.Inc()
		return t.failed(ErrOverloaded)
	}
	if !e.dispatcher.Ask(key, t.kind, w) {
		e.waiting.Add(-1)
		return t.failed(ErrClosed)
	}
	return nil
}

// block sends c's waiter and waits for the answer. c is used up.
func (t *errand) block(ctx context.Context, c *call) error {
	c.waiter.By = c
	if err := t.send(ctx, &c.waiter); err != nil {
		t.e.calls.put(c)
		return err
	}
	answered := c.wait(ctx)
	t.e.waiting.Add(-1)
	if !answered {
		t.e.dispatcher.Abandon(&c.waiter)
		return t.failed(endedBy(ctx))
	}
	err := errorOf(t.doing, t.name, c.out)
	t.e.calls.put(c)
	return err
}

// request is an asynchronous call, from the call to its answer. Whoever settles its promise first has
// decided (rule 17): the loop with a grant or an error, or the caller that goes away.
type request[T any] struct {
	errand
	waiter  gate.Waiter
	promise futures.Promise[T]
	grant   T       // what the future holds when it is granted
	watched watched // by contexts
}

// start sends r's waiter and leaves the answer to the future.
func (r *request[T]) start(ctx context.Context) *futures.Future[T] {
	r.waiter.By, r.watched.by = r, r
	r.promise.Init(&r.e.callbacks, r)
	if err := r.send(ctx, &r.waiter); err != nil {
		r.settle(err)
		return r.promise.Future()
	}
	// Sent first, watched second: a context that ends in between is seen by watch. The other order could have
	// the loop hear that a request was abandoned before it hears of the request, and queue it for nobody.
	r.e.contexts.watch(ctx, &r.watched)
	if r.promise.Settled() { // the answer came before it was watched, and there was nothing to forget
		r.e.contexts.forget(&r.watched)
	}
	return r.promise.Future()
}

func (r *request[T]) settle(err error) bool {
	if err != nil {
		var none T
		return r.promise.Settle(none, err)
	}
	return r.promise.Settle(r.grant, nil)
}

// Settle is the loop's answer. It implements gate.Settler.
func (r *request[T]) Settle(out gate.Outcome) bool {
	settled := r.settle(errorOf(r.doing, r.name, out))
	if settled {
		r.e.waiting.Add(-1)
		r.e.contexts.forget(&r.watched)
	}
	return settled
}

// Hold makes the hold that a request for one becomes. It implements gate.Maker.
func (r *request[T]) Hold() *gate.Hold {
	h := newHold(r.e, r.name)
	h.permits = int32(r.waiter.N)
	r.grant = any(h).(T)
	return &h.core
}

// ended is the end of its context.
func (r *request[T]) ended(err error) {
	if r.settle(r.failed(err)) {
		r.Cancelled()
	}
}

// Cancelled abandons the request: its promise was settled by the caller. It implements futures.Canceler.
func (r *request[T]) Cancelled() {
	r.e.waiting.Add(-1)
	r.e.contexts.forget(&r.watched)
	r.e.dispatcher.Abandon(&r.waiter)
}

// acknowledgement is the future answer to an UnlockAsync.
type acknowledgement struct {
	promise futures.Promise[struct{}]
	name    string
}

// Settle implements gate.Settler.
func (a *acknowledgement) Settle(out gate.Outcome) bool {
	return a.promise.Settle(struct{}{}, closedOr("unlock", a.name, out, errClosedHold))
}

// confirm sends something to the loop and waits for its acknowledgement. When ctx ends first the command
// still runs its course, and the error is ErrUncertain besides the context's. gone is the error when the
// engine closes.
func (e *Engine) confirm(ctx context.Context, doing, name string, gone error, send func(gate.Settler) bool) error {
	c := e.calls.get()
	if !send(c) {
		e.calls.put(c)
		return &opError{doing: doing, name: name, err: gone}
	}
	if !c.wait(ctx) {
		return &opError{doing: doing, name: name, err: join2{ErrUncertain, endedBy(ctx)}}
	}
	err := closedOr(doing, name, c.out, gone)
	e.calls.put(c)
	return err
}

// closedOr is errorOf, but gone when the engine closes.
func closedOr(doing, name string, out gate.Outcome, gone error) error {
	if out.Why == gate.Closed {
		return &opError{doing: doing, name: name, err: gone}
	}
	return errorOf(doing, name, out)
}
