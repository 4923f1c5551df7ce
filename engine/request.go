package engine

import (
	"context"
	"sync"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/wheel/stall"
)

// operation is what a caller does to which name, for its errors.
type operation struct {
	e     *Engine
	name  string
	doing string // "lock", "acquire", ...
	kind  kindIndex
	most  int32         // how many callers of this process may wait for the name
	wait  time.Duration // WithWait, for the error of a request; 0: none
}

func (o *operation) failed(err error) error { return &opError{doing: o.doing, name: o.name, err: err} }

// key returns the key of the name.
func (o *operation) key() (string, error) {
	key, err := o.e.key(o.name, o.kind.machine())
	if err != nil {
		return "", o.failed(err)
	}
	return key, nil
}

// keyToAsk is key for a call that sends nothing if ctx has ended, even while NameMapper ran.
func (o *operation) keyToAsk(ctx context.Context) (string, error) {
	key, err := o.key()
	if err == nil && ctx.Err() != nil {
		err = o.failed(endedBy(ctx))
	}
	return key, err
}

// send puts a waiter into the loop's mailbox, within bounds.
func (o *operation) send(ctx context.Context, w *gate.Waiter) error {
	e := o.e
	key, err := o.keyToAsk(ctx)
	if err != nil {
		return err
	}
	if !e.admit() {
		return o.failed(ErrOverloaded)
	}
	if !e.dispatcher.Ask(key, o.kind.machine(), o.most, w) {
		e.waiting.Add(-1)
		return o.failed(ErrClosed)
	}
	return nil
}

// admit counts one more request that waits. False: there are MaxRequests.
func (e *Engine) admit() bool {
	admitted := e.waiting.Add(1) <= int64(e.opts.MaxRequests)
	if !admitted {
		e.waiting.Add(-1)
		e.overloaded.Inc()
	}
	return admitted
}

// take makes a request and waits for the answer: for a hold, or nil of a kind that gives none. n is how many permits it is to
// have.
func (h *handle) take(ctx context.Context, doing string, n int64, try bool, opts []LockOption) (*Hold, error) {
	o := h.observe(opts)
	c := h.e.calls.get()
	t := h.operation(doing)
	if done, err := t.fill(ctx, n, try, opts, &c.waiter); done {
		h.e.calls.put(c)
		o.notifyDone(nil, err)
		return nil, err
	}
	return t.blockForGrant(ctx, c, &o)
}

// takeAsync is take without blocking. The Hold is made when it is granted.
func takeAsync[T any](ctx context.Context, h *handle, doing string, n int64, try bool, opts []LockOption) *futures.Future[T] {
	o := h.observe(opts)
	r := &request[T]{operation: h.operation(doing)}
	if done, err := r.fill(ctx, n, try, opts, &r.waiter); done {
		var none T
		return observed(o, futures.Settled(&h.e.callbacks, none, err), nil)
	}
	if kept := keptOf(r.waiter.Hold); kept != nil {
		r.grant = any(kept.handOut()).(T)
	}
	return observed(o, r.start(ctx), &r.waiter)
}

// fill checks a request and makes its waiter. done: there is nothing to ask, because of an error, or for no permits of a Semaphore.
func (o *operation) fill(ctx context.Context, n int64, try bool, opts []LockOption, w *gate.Waiter) (done bool, err error) {
	d, err := o.e.opts.read(opts, try, o.kind)
	switch {
	case err != nil:
	case o.kind == permitsIndex:
		most := int64(maxPermits)
		if d.limit != 0 {
			most = min(most, d.limit)
		}
		err = checkCount("an acquire", n, 1, most)
	case o.kind == semaphoreIndex:
		if err = checkCount("an acquire", n, 0, mostPermits); err == nil && n == 0 {
			_, err = o.keyToAsk(ctx)
			return true, err
		}
	}
	if err != nil {
		return true, o.failed(err)
	}
	if h := (handle{o.e, o.name, o.kind}); !try && o.kind.holds() && h.waitsFor(above(ctx), d.owner) {
		return true, h.selfWait(o.doing)
	}
	w.N, w.Owner, w.LeaseTime, w.Watch, w.Try, w.Write = n, d.owner, d.lease, !d.fixed, try, o.kind == writeIndex
	w.Limit, w.Least, w.Fast, w.Until, o.most = d.limit, d.minHold, d.fast && !try, o.until(ctx, try, d.wait), d.queue
	w.Hold = d.keep(o, n)
	if d.age > 0 {
		w.Since = max(o.e.clock.Now()-d.age, 1) // 0 means none
	}
	return false, nil
}

// blockForGrant is block for a request that becomes a hold when it is granted, if its kind gives any.
func (o *operation) blockForGrant(ctx context.Context, c *call, observed *observation) (h *Hold, err error) {
	kept, lease := keptOf(c.waiter.Hold), c.waiter.LeaseTime
	if kept != nil {
		h = &kept.Hold
	} else if o.kind.holds() {
		h = newHold(o.e, o.name, o.kind)
		h.permits = int16(c.waiter.N)
		c.waiter.Hold = &h.core
	}
	if err = o.block(ctx, c, observed); err != nil {
		h = nil
	}
	kept.answered(lease, err)
	observed.notifyDone(h, err)
	return h.handOut(), err
}

// block sends c's waiter and waits for the answer. The caller must not use c afterwards.
func (o *operation) block(ctx context.Context, c *call, observed *observation) error {
	c.waiter.By = c
	if err := o.send(ctx, &c.waiter); err != nil {
		o.e.calls.put(c)
		return err
	}
	answered := c.wait(ctx)
	stall.At("call: waited, request not abandoned", o.e.uuid)
	if !answered {
		// The loop settles the waiter, with what was last known or with a grant that came first. If the mailbox is shut,
		// all waiters have been settled.
		o.e.dispatcher.Abandon(&c.waiter)
		<-c.done
	}
	o.e.waiting.Add(-1)
	var over error
	if c.out.Why == gate.GaveUp {
		over = endedBy(ctx)
	}
	err := o.answer(c.out, over)
	if err == nil && ctx.Err() != nil {
		err = o.inVain(ctx, &c.waiter)
	}
	observed.asked(&c.waiter)
	if answered || c.out.Why == gate.GaveUp { // otherwise the loop has yet to read the Abandon event
		o.e.calls.put(c)
	}
	return err
}

// inVain gives back what w was granted, because ctx has ended meanwhile, and returns the error of that. An open latch gives nothing.
func (o *operation) inVain(ctx context.Context, w *gate.Waiter) error {
	switch o.kind {
	case latchIndex:
		return nil
	case semaphoreIndex:
		if key, err := o.e.key(o.name, gate.SemaphoreKind); err == nil {
			o.e.dispatcher.Change(key, gate.SemaphoreKind, gate.ChangeCount(gate.Give, w.N), gate.InVain)
		}
	default:
		o.e.dispatcher.Unlock(w.Hold, gate.InVain)
	}
	return o.failed(endedBy(ctx))
}

// answer returns the error of a request's outcome. over is the error of its context, if the end of the context ended the wait.
func (o *operation) answer(out gate.Outcome, over error) error {
	switch out.Why {
	case gate.TimedOut:
		return o.failed(o.unmet(ErrWaitTimeout, out))
	case gate.GaveUp:
		return o.failed(o.unmet(over, out))
	case gate.Taken:
		return o.held(out)
	case gate.Lost: // only an Adopt is answered so
		return &opError{doing: o.doing, name: o.name, err: ErrLost, words: "nobody has it under that owner id"}
	}
	return errorOf(o.doing, o.name, out)
}

// confirm sends an event to the loop and waits for its acknowledgement, which may have a number. If ctx ends first, what the event
// asks for still goes on, and the error is ErrUncertain and the context's; after AnswerTimeout it is ErrUncertain alone. gone is
// the error if the engine closes.
func (o *operation) confirm(ctx context.Context, gone error, send func(gate.Settler) bool) (int64, error) {
	c := o.e.calls.get()
	c.ack = dispatcher.Ack{By: c, Within: o.e.answerTime(ctx)}
	if !send(&c.ack) {
		o.e.calls.put(c)
		return 0, o.failed(gone)
	}
	if !c.wait(ctx) {
		return 0, o.unheard(endedBy(ctx))
	}
	answer, err := c.out.N, closedOr(o.doing, o.name, c.out, gone)
	o.e.calls.put(c)
	return answer, err
}

// closedOr is errorOf, except that it returns gone if the engine closes.
func closedOr(doing, name string, out gate.Outcome, gone error) error {
	if out.Why == gate.Closed {
		return &opError{doing: doing, name: name, err: gone}
	}
	return errorOf(doing, name, out)
}

// call is a blocking caller that waits for the loop: for a lock, or for the answer to an unlock. Calls are reused. Futures
// cannot be, because any goroutine may still have one.
//
// The loop answers each call once (invariant: answered-once): it writes out, then sends on done, and never touches the call
// again. So a caller that has received from done is the only owner and may put the call back, unless an event in the loop's
// mailbox still refers to it.
type call struct {
	waiter gate.Waiter
	ack    dispatcher.Ack
	out    gate.Outcome
	done   chan struct{} // capacity 1: the loop does not wait for a caller that has gone
}

// Settle implements gate.Settler.
func (c *call) Settle(out gate.Outcome) bool {
	c.out = out
	c.done <- struct{}{}
	return true
}

// wait blocks until the call is answered; false: ctx ended first, and the loop still has the call.
func (c *call) wait(ctx context.Context) bool {
	done := ctx.Done()
	if done == nil {
		<-c.done
		return true
	}
	select {
	case <-c.done:
		return true
	case <-done:
	}
	select {
	case <-c.done: // it was answered at the same moment, and that counts
		return true
	default:
		return false
	}
}

// calls keeps calls for reuse. It belongs to one engine: a channel must not be used in another synctest bubble.
type calls struct{ pool sync.Pool }

func (cs *calls) get() *call {
	if c, ok := cs.pool.Get().(*call); ok {
		return c
	}
	return &call{done: make(chan struct{}, 1)}
}

// put takes back a call that was answered.
func (cs *calls) put(c *call) {
	if c.ack.Overdue() { // its answer is still to come
		return
	}
	c.waiter, c.ack, c.out = gate.Waiter{}, dispatcher.Ack{}, gate.Outcome{}
	cs.pool.Put(c)
}

// request is an asynchronous call, from the call to its answer. The first to settle its promise decides (invariant:
// answered-once): the loop with a grant or an error, or the caller that cancels the future.
type request[T any] struct {
	operation
	waiter  gate.Waiter
	promise futures.Promise[T]
	grant   T       // the value of the future if the request is granted
	watched watched // by contexts
	over    error   // the error of its context, if that has ended; set before the loop is told
}

// start sends r's waiter and leaves the answer to the future.
func (r *request[T]) start(ctx context.Context) *futures.Future[T] {
	r.waiter.By, r.watched.by = r, r
	r.promise.Init(&r.e.callbacks, r)
	if err := r.send(ctx, &r.waiter); err != nil {
		r.settle(err)
		return r.promise.Future()
	}
	stall.At("request: sent, context not watched", r.e.uuid)
	// Send first, watch second: watch sees a context that ended in between. In the other order the loop could read the
	// Abandon event before the request, and then queue a request that nobody wants.
	r.e.contexts.watch(ctx, &r.watched)
	if r.promise.Settled() { // the answer came before watch, when there was nothing to forget
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
	if r.promise.Settled() { // cancelled; its context may be ending at this moment
		return false
	}
	var over error
	if out.Why == gate.GaveUp { // otherwise over may be written at this moment
		over = r.over
	}
	settled := r.settle(r.answer(out, over))
	if settled {
		r.e.waiting.Add(-1)
		r.e.contexts.forget(&r.watched)
	}
	if settled && out.Why == gate.Granted {
		keptOf(r.waiter.Hold).putNote(r.waiter.LeaseTime)
	}
	return settled
}

// Hold makes the hold when the request is granted. It implements gate.Maker.
func (r *request[T]) Hold() *gate.Hold {
	h := newHold(r.e, r.name, r.kind)
	h.permits = int16(r.waiter.N)
	r.grant = any(h).(T)
	return &h.core
}

// ended is called at the end of its context. The loop then settles it, with what was last known.
func (r *request[T]) ended(err error) {
	r.over = err
	r.e.dispatcher.Abandon(&r.waiter)
}

// Cancelled abandons the request: its promise was settled by the caller. It implements futures.Canceler.
func (r *request[T]) Cancelled() {
	r.e.waiting.Add(-1)
	r.e.contexts.forget(&r.watched)
	r.e.dispatcher.Abandon(&r.waiter)
}
