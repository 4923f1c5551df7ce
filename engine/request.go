package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// request is an asynchronous call for a lock, from the call to its answer. Whoever settles its promise first
// has decided (rule 17): the loop with a grant or an error, or the caller that goes away.
type request struct {
	waiter  gate.Waiter
	promise futures.Promise[*Hold]
	hold    *Hold
	watched watched // by contexts
}

// Settle is the loop's answer. It implements gate.Settler.
func (r *request) Settle(out gate.Outcome) bool {
	settled := false
	if out.Why == gate.Granted {
		settled = r.promise.Settle(r.hold, nil)
	} else {
		settled = r.promise.Settle(nil, errorOf("lock", r.hold.name, out))
	}
	if settled {
		r.hold.e.waiting.Add(-1)
		r.hold.e.contexts.forget(r)
	}
	return settled
}

// Cancelled abandons the request: its promise was settled by the caller. It implements futures.Canceler.
func (r *request) Cancelled() {
	e := r.hold.e
	e.waiting.Add(-1)
	e.contexts.forget(r)
	e.dispatcher.Abandon(&r.waiter)
}

// acknowledgement is the future answer to an UnlockAsync.
type acknowledgement struct {
	promise futures.Promise[struct{}]
	name    string
}

// Settle implements gate.Settler.
func (a *acknowledgement) Settle(out gate.Outcome) bool {
	return a.promise.Settle(struct{}{}, errorOf("unlock", a.name, out))
}

// confirm sends something to the loop and waits for its acknowledgement. When ctx ends first the command
// still runs its course, and the error is ErrUncertain besides the context's. gone is the error when the
// loop has ended.
func (e *Engine) confirm(ctx context.Context, doing, name string, gone error, send func(gate.Settler) bool) error {
	c := e.calls.get()
	if !send(c) {
		e.calls.put(c)
		return &opError{doing: doing, name: name, err: gone}
	}
	if !c.wait(ctx) {
		return &opError{doing: doing, name: name, err: join2{ErrUncertain, endedBy(ctx)}}
	}
	err := errorOf(doing, name, c.out)
	e.calls.put(c)
	return err
}
