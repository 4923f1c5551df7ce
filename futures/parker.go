package futures

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// parker is the waiter of one goroutine blocked in Wait.
//
// Its channel outlives the Wait, so a wake-up must never be left behind in it. The danger:
//
//  1. Wait A parks p in the queue of F, and its ctx ends.
//  2. Settle F pops p, and is preempted before it sends the wake-up.
//  3. Wait A returns and puts p into the pool. Wait B takes p and parks it in the queue of G.
//  4. Settle F sends. B wakes up and reads the answer of G, which is still pending.
//
// Therefore popping and leaving exclude each other (both under mu). A parker that can leave the queue will never be sent a
// wake-up. A parker that cannot leave gets exactly one, and receives it before p goes to the pool.
type parker struct {
	waiter
	wake chan struct{} // capacity 1, empty whenever the parker is in a queue or in a pool: answered never blocks
}

func newParker() *parker {
	p := &parker{wake: make(chan struct{}, 1)}
	p.owner = p
	return p
}

func (p *parker) answered() { p.wake <- struct{}{} }

// Parkers keeps the structs on which goroutines block in Wait, for the next Wait. A [Runner] that embeds it, and is
// given to futures by pointer, lends it to them. With another Runner every Wait that blocks makes its own. The zero
// value is ready for use.
//
// It belongs to a Runner and not to the package because of testing/synctest: a channel made inside a bubble must not be
// touched outside, and blocking on one made outside stops the clock of the bubble.
//
// Parkers is machinery, for code that makes futures.
type Parkers struct {
	idle sync.Pool
}

func (ps *Parkers) parkers() *Parkers { return ps }

func (ps *Parkers) get() *parker {
	if ps != nil {
		if p, ok := ps.idle.Get().(*parker); ok {
			return p
		}
	}
	return newParker()
}

func (ps *Parkers) put(p *parker) {
	if ps != nil {
		ps.idle.Put(p)
	}
}

// Wait blocks until the answer is there and returns it. If ctx ends first, it returns an error that Is both ctx.Err()
// and context.Cause(ctx). An answer that is there wins over an ended ctx.
//
// Giving up leaves the future as it is: the answer may still come and take effect; a lock may still be granted. Only
// [Future.Cancel] prevents that.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	if f.answered() {
		return f.value, f.err
	}
	var pool *Parkers
	if lender, ok := f.runner.(interface{ parkers() *Parkers }); ok {
		pool = lender.parkers()
	}
	p := pool.get()
	f.park(ctx, p)
	pool.put(p)
	if f.answered() {
		return f.value, f.err
	}
	var zero T
	return zero, ended(ctx)
}

// park blocks until f is answered or ctx has ended. When it returns, p is in no queue and owed nothing.
func (f *Future[T]) park(ctx context.Context, p *parker) {
	if !f.join(&p.waiter) {
		return
	}
	select {
	case <-p.wake:
	case <-ctx.Done():
		if !f.leave(&p.waiter) {
			<-p.wake // on its way: the goroutine that popped p sends without blocking
		}
	}
}

// ended is the error of a ctx that has ended.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
