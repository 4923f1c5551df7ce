package engine

import (
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// callbacks runs the callbacks of users, on a bounded pool of workers. Nothing of the engine's own needs it
// to go on (rule 18). When all workers are busy a callback waits in line; after patience it gets a goroutine
// of its own, so that callbacks that wait for each other do not stand still for ever. None is dropped.
type callbacks struct {
	futures.Parkers
	pool       *ants.PoolWithFuncGeneric[func()]
	logger     *slog.Logger
	overflowed gate.Counter // callbacks that got a goroutine of their own

	mu    sync.Mutex // guards the rest
	line  []late
	timer *time.Timer // runs while somebody is in line
}

type late struct {
	fn    func()
	since time.Time
}

// patience is how long a callback waits for a worker.
const patience = 50 * time.Millisecond

func (c *callbacks) open(size int, logger *slog.Logger) error {
	c.logger = logger
	pool, err := ants.NewPoolWithFuncGeneric(size, c.work,
		ants.WithNonblocking(true), ants.WithExpiryDuration(30*time.Second))
	c.pool = pool
	return err
}

// Go runs fn soon. It does not block. It implements futures.Runner.
func (c *callbacks) Go(fn func()) {
	if c.pool.Invoke(fn) == nil {
		return
	}
	if c.pool.IsClosed() {
		go c.run(fn)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line = append(c.line, late{fn, time.Now()})
	if c.timer == nil {
		c.timer = time.AfterFunc(patience, c.relieve)
	}
}

// work is a worker: it runs fn, and then whoever is in line.
func (c *callbacks) work(fn func()) {
	for ; fn != nil; fn = c.next() {
		c.run(fn)
	}
}

func (c *callbacks) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) == 0 {
		return nil
	}
	fn := c.line[0].fn
	c.line[0] = late{}
	c.line = c.line[1:]
	return fn
}

// relieve gives goroutines to those who have waited too long.
func (c *callbacks) relieve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, n := time.Now(), 0
	for len(c.line) > 0 && now.Sub(c.line[0].since) >= patience {
		go c.run(c.line[0].fn)
		c.line[0] = late{}
		c.line = c.line[1:]
		n++
	}
	if n > 0 {
		c.overflowed.Add(int64(n))
		c.logger.Warn("wheellock: all callback workers are busy", "callbacks given goroutines of their own", n, "workers", c.pool.Cap())
	}
	c.timer = nil
	if len(c.line) > 0 {
		c.timer = time.AfterFunc(patience-now.Sub(c.line[0].since), c.relieve)
	}
}

func (c *callbacks) run(fn func()) {
	defer func() {
		if v := recover(); v != nil { // futures recover by themselves; this is for what else may come
			c.HandlePanic(&futures.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	fn()
}

// HandlePanic hears of every callback that panicked. It implements futures.PanicHandler.
func (c *callbacks) HandlePanic(p *futures.PanicError) {
	c.logger.Error("wheellock: a callback panicked", "panic", p.Value, "stack", string(p.Stack))
}

// close lets running callbacks go on by themselves; later ones get goroutines.
func (c *callbacks) close() {
	c.pool.Release()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.line {
		go c.run(l.fn)
	}
	c.line = nil
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
