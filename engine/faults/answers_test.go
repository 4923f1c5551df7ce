package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// contest is callers who compete for a few names and check that they have them alone.
type contest struct {
	t      *testing.T
	server *redistest.Server
	e      *engine.Engine
	names  int
	mixed  bool           // half of the callers give another lease than the watchdog's: they get no handoff
	inside []atomic.Int32 // by name: how many believe to hold it
	grants atomic.Int64
}

func newContest(t *testing.T, s *redistest.Server, e *engine.Engine, names int, mixed bool) *contest {
	return &contest{t: t, server: s, e: e, names: names, mixed: mixed, inside: make([]atomic.Int32, names)}
}

// run has so many callers compete until until says so.
func (c *contest) run(callers int, until func() bool) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for !until() && !c.t.Failed() {
				c.once(i)
			}
		})
	}
	wg.Wait()
}

// once takes a name, looks who has it in Redis, and gives it back.
func (c *contest) once(caller int) {
	n := caller % c.names
	name := fmt.Sprintf("contest:%d", n)
	var opts []engine.LockOption
	if c.mixed && caller/c.names%2 == 1 {
		opts = append(opts, engine.WithLease(time.Duration(10+rand.IntN(3))*time.Second))
	}
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	h, err := c.e.Mutex(name).Lock(ctx, opts...)
	if err != nil {
		c.t.Errorf("lock %s: %v", name, err)
		return
	}
	c.grants.Add(1)
	c.enter(n)
	if got, want := testkit.Owners(c.server, name), []string{h.TenureID(), "1"}; !slices.Equal(got, want) {
		c.t.Errorf("in Redis stands %q, want %q", got, want)
	}
	c.inside[n].Add(-1)
	if err := h.Unlock(ctx); err != nil {
		c.t.Errorf("unlock %s: %v", name, err)
	}
}

// enter notes that a caller holds a name, and that nobody else may.
func (c *contest) enter(n int) {
	if in := c.inside[n].Add(1); in != 1 {
		c.t.Errorf("%d callers hold name %d", in, n)
	}
}
