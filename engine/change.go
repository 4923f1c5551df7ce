package engine

import (
	"context"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// mostPermits is how many permits or counts one call may name: every number up to a multiple of it is exact in Lua.
const mostPermits = 1 << 50

// checkCount checks how many permits or counts a call names.
func checkCount(what string, n, least, most int64) error {
	if n < least || n > most {
		return invalid("%s of %d: must be from %d to %d", what, n, least, most)
	}
	return nil
}

// change makes a change on a name without owners and returns the script's answer (invariant: change-has-one-effect).
func (o *operation) change(ctx context.Context, ch gate.Change) (int64, error) {
	key, err := o.key()
	if err != nil {
		return 0, err
	}
	return o.confirm(ctx, ErrClosed, func(ack gate.Settler) bool {
		return o.e.dispatcher.Change(key, o.kind.machine(), ch, ack)
	})
}

// decide is change for calls that send nothing if ctx has ended.
func (o *operation) decide(ctx context.Context, ch gate.Change) (int64, error) {
	if ctx.Err() != nil {
		return 0, o.failed(endedBy(ctx))
	}
	return o.change(ctx, ch)
}

// setCount is decide for a call that gives a name a count. False: the name has one. what says in errors what is counted.
func (o *operation) setCount(ctx context.Context, op gate.Op, what string, a gate.CountArgs) (bool, error) {
	if err := checkCount(what, a.N, 0, mostPermits); err != nil {
		return false, o.failed(err)
	}
	set, err := o.decide(ctx, gate.Change{Op: op, Args: a.Args()})
	return set == 1, err
}

// delete is decide for a call that deletes a name. False: there is none.
func (o *operation) delete(ctx context.Context, op gate.Op) (bool, error) {
	deleted, err := o.decide(ctx, gate.ChangeCount(op, 0))
	return deleted == 1, err
}

// addPermits is decide for a call that changes the number of permits.
func (o *operation) addPermits(ctx context.Context, op gate.Op, n int64) error {
	if err := checkCount("an addition", n, -mostPermits, mostPermits); err != nil {
		return o.failed(err)
	}
	_, err := o.decide(ctx, gate.ChangeCount(op, n))
	return err
}

// changeAsync is change without blocking.
func (o *operation) changeAsync(ctx context.Context, ch gate.Change) *futures.Future[struct{}] {
	key, err := o.key()
	if err != nil {
		return futures.Settled(&o.e.callbacks, struct{}{}, err)
	}
	c := &pendingChange{operation: *o}
	c.watched.by = c
	c.promise.Init(&o.e.callbacks, nil)
	if !o.e.dispatcher.Change(key, o.kind.machine(), ch, c) {
		c.promise.Settle(struct{}{}, o.failed(ErrClosed))
		return c.promise.Future()
	}
	o.e.contexts.watch(ctx, &c.watched)
	if c.promise.Settled() { // the answer came before watch
		o.e.contexts.forget(&c.watched)
	}
	return c.promise.Future()
}

// pendingChange is a change with a future for its caller.
type pendingChange struct {
	operation
	promise futures.Promise[struct{}]
	watched watched
}

// Settle implements gate.Settler.
func (p *pendingChange) Settle(out gate.Outcome) bool {
	settled := p.promise.Settle(struct{}{}, errorOf(p.doing, p.name, out))
	p.e.contexts.forget(&p.watched) // last: changeAsync watches first, and then looks whether it is settled
	return settled
}

// ended is called at the end of its context.
func (p *pendingChange) ended(err error) {
	p.promise.Settle(struct{}{}, p.unheard(err))
}
