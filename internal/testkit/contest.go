package testkit

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/judge"
)

// Contested is the name that they compete for.
const Contested = "stock:7"

// RwContest is readers and writers of one name, who check that a writer is alone.
type RwContest struct {
	T       *testing.T
	Engines []*engine.Engine
	inside  judge.Inside
	Grants  atomic.Int64
}

// Run has callers compete until until says so.
func (c *RwContest) Run(callers int, until func() bool) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for !until() && !c.T.Failed() {
				rw := c.Engines[i%len(c.Engines)].RWMutex(Contested)
				switch rand.IntN(5) {
				case 0:
					c.write(rw)
				case 1:
					c.lower(rw)
				default:
					c.read(rw)
				}
			}
		})
	}
	wg.Wait()
}

// take locks, or gives up when it is cancelled.
func (c *RwContest) take(m *engine.Mutex, opts ...engine.LockOption) *engine.Hold {
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	h, err := m.Lock(ctx, opts...)
	if err != nil {
		c.T.Errorf("lock: %v", err)
		return nil
	}
	c.Grants.Add(1)
	return h
}

func (c *RwContest) free(h *engine.Hold) {
	if err := Patiently(h.Unlock); err != nil {
		c.T.Errorf("unlock: %v", err)
	}
}

func (c *RwContest) read(rw *engine.RWMutex) {
	h := c.take(rw.Reader())
	if h == nil {
		return
	}
	c.enter(1)
	c.free(h)
}

func (c *RwContest) write(rw *engine.RWMutex) {
	h := c.take(rw.Writer())
	if h == nil {
		return
	}
	c.enter(judge.Whole)
	c.free(h)
}

// enter is what a reader, of weight 1, or a writer does inside.
func (c *RwContest) enter(weight int64) {
	if !c.inside.Enter(judge.Whole, weight) {
		c.T.Errorf("one of weight %d is not alone", weight)
	}
	time.Sleep(rand.N(200 * time.Microsecond)) // sleeps: how long it is held
	c.inside.Leave(weight)
}

// lower writes, reads, and goes on reading when it has ceased to write.
func (c *RwContest) lower(rw *engine.RWMutex) {
	me := engine.WithOwner(engine.NewOwner())
	write := c.take(rw.Writer(), me)
	if write == nil {
		return
	}
	c.enter(judge.Whole)
	read := c.take(rw.Reader(), me)
	c.free(write)
	if read == nil {
		return
	}
	c.enter(1)
	c.free(read)
}
