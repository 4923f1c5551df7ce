package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Invariant: loss is final, and whoever finds a hold over, what is left of it in Redis is released.

// A MultiLock's part is cut off from its server, so that the hold ends by the clock. Its holder looks at the clock and
// unlocks before the loop has noticed: the part on the other server, which lives, must be given back all the same.
// invariant: loss-is-final
func TestLossIsFinalGivesLivingPartsBack(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, a.Addr())
			e1 := testkit.Connect(t, proxy.Addr(), testkit.Lease(600*time.Millisecond))
			e2 := testkit.Connect(t, b.Addr(), testkit.Lease(600*time.Millisecond))
			name := fmt.Sprint("living part ", round)
			m, err := engine.Multi(e1.Mutex("cut off"), e2.Mutex(name))
			if err != nil {
				t.Fatal(err)
			}
			h, err := m.Lock(testkit.Soon(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy.BlackHole(redistest.Both, true)
			time.Sleep(time.Until(h.Deadline()) - 2*time.Millisecond)
			for h.Err() == nil { // not Done: the first look after the deadline is the holder's
			}
			if err := h.Unlock(testkit.Soon(t)); !errors.Is(err, engine.ErrLost) {
				t.Errorf("Unlock of a lost hold: %v", err)
			}
			redistest.Await(t, "the living part to be given back", func() bool { return len(testkit.Owners(b, name)) == 0 && e2.Stats().Held == 0 })
			proxy.BlackHole(redistest.Both, false)
		})
	}
}

// The context of a hold says that it is over from the hold's Deadline on, by the clock, also when nobody has had a
// processor to end it; and what a look at the clock has ended stays ended.
// invariant: loss-is-final
func TestLossIsFinalForErrAndContext(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr(), testkit.Lease(300*time.Millisecond))
	for name, parent := range map[string]context.Context{"endless parent": context.Background(), "parent that can end": t.Context()} {
		t.Run(name, func(t *testing.T) {
			h := testkit.MustLock(t, e.Mutex(name))
			ctx := h.Context(parent)
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			proxy.BlackHole(redistest.Both, true)
			defer proxy.BlackHole(redistest.Both, false)
			for deadline := h.Deadline(); time.Now().Before(deadline); deadline = h.Deadline() {
				time.Sleep(time.Until(deadline))
			}
			if err := ctx.Err(); err != context.Canceled {
				t.Errorf("at the deadline the context's Err is %v", err)
			}
			if err := h.Err(); !errors.Is(err, engine.ErrLost) {
				t.Errorf("Err is %v", err)
			}
			<-ctx.Done()
			<-child.Done()
			if cause := context.Cause(child); !errors.Is(cause, engine.ErrLost) {
				t.Errorf("the cause is %v", cause)
			}
		})
	}
}
