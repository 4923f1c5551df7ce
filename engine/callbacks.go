package engine

import (
	"log/slog"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// callbacks runs the callbacks of users on a bounded number of workers. The engine's own progress never needs them
// (invariant: loop-never-waits). All callbacks wait in one queue. If a worker takes the first while others wait, it asks for
// one more worker before it runs the callback. So blocking callbacks soon get all workers, and the few workers that find a
// processor run short callbacks one after the other, without a wake-up for each.
//
// If all workers are busy, a callback that has waited for patience, or at most twice as long, gets a goroutine of its own, so
// that callbacks that wait for each other cannot block for ever. None is dropped.
type callbacks struct {
	futures.Parkers
	pool       *ants.Pool
	worker     func() // work, made once
	size       int
	logger     *slog.Logger
	overflowed gate.Counter // callbacks that got a goroutine of their own

	mu      sync.Mutex // guards the rest
	queue   queue[futures.Task]
	working int  // workers that were asked for and have not left
	coming  bool // the last of them has not taken a callback yet: no other is asked for
	closed  bool
	timer   *time.Timer // runs while callbacks are queued and all workers are busy
	overdue int         // the first callbacks of the queue, if they are still there when timer fires
}

// patience is how long a callback waits for a worker at least, before it gets a goroutine of its own.
const patience = 50 * time.Millisecond

func (c *callbacks) open(size int, logger *slog.Logger) error {
	c.size, c.logger, c.worker = size, logger, c.work
	pool, err := ants.NewPool(size, ants.WithNonblocking(true), ants.WithExpiryDuration(30*time.Second))
	c.pool = pool
	return err
}

// Go runs t soon. It does not block. It implements futures.Runner.
func (c *callbacks) Go(t futures.Task) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		go t.Run()
		return
	}
	c.queue.push(t)
	c.unlock()
}

// wanted reports whether one more worker is to be asked for. c.mu is held.
func (c *callbacks) wanted() bool {
	if c.queue.empty() || c.coming {
		return false
	}
	if c.working < c.size {
		c.working++
		c.coming = true
		return true
	}
	if c.timer == nil {
		// Whatever is queued now will then have waited for patience. So no callback has to note when it came, which
		// would cost a reading of the clock for each.
		c.overdue = c.queue.len()
		c.timer = time.AfterFunc(patience, c.startExtra)
	}
	return false
}

// unlock releases c.mu, and then starts a worker if one is wanted.
func (c *callbacks) unlock() {
	wanted := c.wanted()
	c.mu.Unlock()
	if wanted && c.pool.Submit(c.worker) != nil { // a worker that has left is not back in the pool yet, or the pool is closed
		go c.work()
	}
}

// work is a worker: it runs what is queued until nothing is.
func (c *callbacks) work() {
	done := false
	defer func() {
		if !done { // a callback has ended the goroutine
			c.mu.Lock()
			c.working--
			c.unlock()
		}
	}()
	for t := c.take(true); t != nil; t = c.take(false) {
		t.Run()
	}
	done = true
}

// take returns the next callback for a worker that is new or has run another; nil: the worker leaves.
func (c *callbacks) take(came bool) futures.Task {
	c.mu.Lock()
	if came {
		c.coming = false
	}
	t := c.queue.pop()
	switch {
	case t == nil:
		c.working--
	case c.overdue > 0:
		c.overdue--
	}
	c.unlock()
	return t
}

// startExtra starts goroutines for callbacks that have waited too long.
func (c *callbacks) startExtra() {
	c.mu.Lock()
	n := c.overdue
	for range n {
		go c.queue.pop().Run()
	}
	c.overdue, c.timer = 0, nil
	c.unlock()
	if n > 0 {
		c.overflowed.Add(int64(n))
		c.logger.Warn("wheellock: all callback workers are busy", "callbacks given goroutines of their own", n, "workers", c.size)
	}
}

// ownSteps runs steps of the engine, each by a goroutine of its own, and tells callbacks of their panics.
type ownSteps struct{ *callbacks }

// Go implements futures.Runner.
func (ownSteps) Go(t futures.Task) { go t.Run() }

// after is All for what the engine itself does when it has the answers: no callback of it waits for a worker. The first of its values
// is none of theirs.
func after[T any](e *Engine, answers ...*futures.Future[T]) *futures.Future[[]T] {
	var none T
	return futures.All(append([]*futures.Future[T]{futures.Settled(ownSteps{&e.callbacks}, none, nil)}, answers...)...)
}

// HandlePanic is told of every callback that panicked. It implements futures.PanicHandler.
func (c *callbacks) HandlePanic(p *futures.PanicError) {
	c.logger.Error("wheellock: a callback panicked", "panic", p.Value, "stack", string(p.Stack))
}

// close lets running callbacks go on by themselves; queued and later callbacks get goroutines.
func (c *callbacks) close() {
	c.pool.Release()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for t := c.queue.pop(); t != nil; t = c.queue.pop() {
		go t.Run()
	}
	c.overdue = 0
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
