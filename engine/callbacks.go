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
// to go on (rule 18).
//
// Callbacks stand in line; a worker runs one after the other until the line is empty, so that a burst of
// short ones costs a few wake-ups, not one each. More workers join when the line is long, and when somebody
// at its head has waited for a look: then the workers that are there are held up. A callback that has waited
// for patience because all workers are busy gets a goroutine of its own, so that callbacks that wait for each
// other do not stand still for ever. None is dropped.
type callbacks struct {
	futures.Parkers
	pool       *ants.Pool
	logger     *slog.Logger
	overflowed gate.Counter // callbacks that got a goroutine of their own

	mu      sync.Mutex // guards the rest
	line    []inLine
	head    int // how many of line are gone
	workers int
	size    int
	looker  *time.Timer // runs while somebody is in line
	looking bool
	closed  bool
}

type inLine struct {
	fn    func()
	since time.Time
}

const (
	// patience is how long a callback waits when all workers are busy.
	patience = 50 * time.Millisecond
	// look is how long one waits at most before more workers join.
	look = 250 * time.Microsecond
	// perWorker callbacks in line for each worker are a long line.
	perWorker = 8
)

func (c *callbacks) open(size int, logger *slog.Logger) error {
	c.logger, c.size = logger, size
	pool, err := ants.NewPool(size, ants.WithNonblocking(true), ants.WithExpiryDuration(30*time.Second))
	c.pool = pool
	return err
}

// Go runs fn soon. It does not block. It implements futures.Runner.
func (c *callbacks) Go(fn func()) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		go c.run(fn)
		return
	}
	c.line = append(c.line, inLine{fn, time.Now()})
	start := 0
	if waiting := len(c.line) - c.head; c.workers == 0 || waiting > perWorker*c.workers {
		start = c.hire(1)
	}
	if !c.looking {
		c.look()
	}
	c.mu.Unlock()
	c.put(start)
}

// hire counts up to n more workers, as far as there are any. It needs mu.
func (c *callbacks) hire(n int) int {
	n = min(n, c.size-c.workers)
	c.workers += n
	return n
}

// put n workers to work. A pool that refuses has been closed meanwhile.
func (c *callbacks) put(n int) {
	for range n {
		if c.pool.Submit(c.work) != nil {
			go c.work()
		}
	}
}

// work runs callbacks until the line is empty.
func (c *callbacks) work() {
	for {
		fn := c.next()
		if fn == nil {
			return
		}
		c.run(fn)
	}
}

// next takes the head of the line; nil, and one worker less, when there is none.
func (c *callbacks) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head == len(c.line) {
		c.workers--
		return nil
	}
	return c.pop()
}

func (c *callbacks) pop() func() {
	fn := c.line[c.head].fn
	c.line[c.head] = inLine{}
	if c.head++; c.head == len(c.line) {
		c.line, c.head = c.line[:0], 0
	}
	return fn
}

// look has the line looked at after a while. It needs mu.
func (c *callbacks) look() {
	c.looking = true
	if c.looker == nil {
		c.looker = time.AfterFunc(look, c.relieve)
	} else {
		c.looker.Reset(look)
	}
}

// relieve hires for a line that does not move, and gives goroutines to those who have waited too long.
func (c *callbacks) relieve() {
	c.mu.Lock()
	if c.looking = false; c.head == len(c.line) || c.closed {
		c.mu.Unlock()
		return
	}
	now, start := time.Now(), 0
	if now.Sub(c.line[c.head].since) >= look {
		start = c.hire(min(max(c.workers, 1), len(c.line)-c.head))
	}
	n := 0
	for c.workers-start == c.size && c.head < len(c.line) && now.Sub(c.line[c.head].since) >= patience {
		go c.run(c.pop())
		n++
	}
	c.look()
	c.mu.Unlock()
	c.put(start)
	if n > 0 {
		c.overflowed.Add(int64(n))
		c.logger.Warn("wheellock: all callback workers are busy", "callbacks given goroutines of their own", n, "workers", c.size)
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

// close lets running callbacks go on by themselves; those in line and later ones get goroutines.
func (c *callbacks) close() {
	c.mu.Lock()
	c.closed = true
	for c.head < len(c.line) {
		go c.run(c.pop())
	}
	if c.looker != nil {
		c.looker.Stop()
	}
	c.mu.Unlock()
	c.pool.Release()
}
