package engine

import (
	"context"
	"sync"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/internal/gate"
)

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
