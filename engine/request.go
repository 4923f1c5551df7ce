package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// request is one call for a lock, from the call to its answer. Whoever settles its promise first has
// decided (rule 17): the loop with a grant or an error, or the caller that goes away.
type request struct {
	waiter  gate.Waiter
	promise futures.Promise[*Hold]
	hold    *Hold
	watched watched // by contexts
}

// request checks a call and makes its request. Nothing is sent yet.
func (m *Mutex) request(ctx context.Context, try bool, opts []LockOption) (*request, error) {
	e := m.e
	d, err := e.opts.read(opts, try)
	if err != nil {
		return nil, &opError{doing: "lock", name: m.name, err: err}
	}
	if ctx.Err() != nil {
		return nil, &opError{doing: "lock", name: m.name, err: endedBy(ctx)}
	}
	h := &Hold{e: e, name: m.name}
	h.core.By = h
	r := &request{hold: h}
	r.waiter = gate.Waiter{By: r, Hold: &h.core, Owner: d.owner, Lease: d.lease, Watch: !d.fixed, Try: try}
	if d.wait > 0 {
		r.waiter.Until = e.clock.Now() + d.wait
	}
	h.fixed = d.fixed
	return r, nil
}

// ask sends the request on its way.
func (r *request) ask(m *Mutex) error {
	e := m.e
	key, err := e.key(m.name)
	if err != nil {
		return &opError{doing: "lock", name: m.name, err: err}
	}
	if n := e.waiting.Add(1); n > int64(e.opts.MaxRequests) {
		e.waiting.Add(-1)
		e.overloaded.Inc()
		return &opError{doing: "lock", name: r.hold.name, err: ErrOverloaded}
	}
	if !e.dispatcher.Ask(key, m.kind, &r.waiter) {
		e.waiting.Add(-1)
		return &opError{doing: "lock", name: r.hold.name, err: ErrClosed}
	}
	return nil
}

// wait blocks until the request is answered or ctx ends.
func (r *request) wait(ctx context.Context) (*Hold, error) {
	h, err := r.promise.Future().Wait(ctx)
	if err == nil {
		return h, nil
	}
	if r.promise.Settled() { // if the answer came at the same moment, it counts
		return r.promise.Future().Wait(context.Background())
	}
	err = &opError{doing: "lock", name: r.hold.name, err: err}
	if !r.promise.Settle(nil, err) {
		return r.promise.Future().Wait(context.Background())
	}
	r.Cancelled()
	return nil, err
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

// acknowledgement is the answer to an Unlock, Extend or ForceUnlock.
type acknowledgement struct {
	promise futures.Promise[struct{}]
	doing   string
	name    string
}

func (e *Engine) acknowledgement(doing, name string) *acknowledgement {
	a := &acknowledgement{doing: doing, name: name}
	a.promise.Init(&e.callbacks, nil)
	return a
}

// Settle implements gate.Settler.
func (a *acknowledgement) Settle(out gate.Outcome) bool {
	return a.promise.Settle(struct{}{}, errorOf(a.doing, a.name, out))
}

// wait waits for the answer; when ctx ends first, the command still runs its course.
func (a *acknowledgement) wait(ctx context.Context) error {
	_, err := a.promise.Future().Wait(ctx)
	if err != nil && !a.promise.Settled() {
		return &opError{doing: a.doing, name: a.name, err: join2{ErrUncertain, err}}
	}
	return err
}
