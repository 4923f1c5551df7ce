package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/wheellock/wheellock/internal/gate"
)

// call is a blocking caller that waits for the loop: for a lock, or for the answer to an unlock. Calls are
// used again and again, which futures cannot be: a future may have been given to anybody.
//
// Whoever moves state away from pending has decided (rule 17). The loop writes out, then sends on done, and
// never touches the call again; a caller that has received from done therefore owns it alone and may give
// it back. A caller that went away first must not: the loop still has it in a queue.
type call struct {
	waiter gate.Waiter
	out    gate.Outcome
	done   chan struct{} // capacity 1
	state  atomic.Uint32
}

const (
	pending uint32 = iota
	answered
	abandoned
)

// Settle implements gate.Settler.
func (c *call) Settle(out gate.Outcome) bool {
	if !c.state.CompareAndSwap(pending, answered) {
		return false
	}
	c.out = out
	c.done <- struct{}{}
	return true
}

// wait blocks until the call is answered; false: ctx ended first, and the call is abandoned.
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
		if c.state.CompareAndSwap(pending, abandoned) {
			return false
		}
		<-c.done // it was answered at the same moment, and that counts
		return true
	}
}

// calls keeps calls for reuse. It belongs to one engine: a channel must not wander into a synctest bubble.
type calls struct{ pool sync.Pool }

func (cs *calls) get() *call {
	if c, ok := cs.pool.Get().(*call); ok {
		return c
	}
	return &call{done: make(chan struct{}, 1)}
}

func (cs *calls) put(c *call) {
	c.waiter, c.out = gate.Waiter{}, gate.Outcome{}
	c.state.Store(pending)
	cs.pool.Put(c)
}
