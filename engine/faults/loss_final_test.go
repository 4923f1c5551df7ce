package faults_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Invariant: loss is final, and whoever finds a hold over, what is left of it in Redis is released.

// A MultiLock's part is cut off from its server, so that the hold ends by the clock. Its holder looks at the clock and
// unlocks before the loop has noticed: the part on the other server, which lives, must be given back all the same.
// invariant: loss-is-final
func TestLossIsFinalGivesLivingPartsBack(t *testing.T) {
	t.Parallel()
	for range 20 { // the loop and the holder wake up at one moment, in either order
		virtual.Test(t, func(w *virtual.World) {
			server := w.Serve("other")
			e1, l := w.Connect(testkit.Lease(600 * time.Millisecond))
			e2, _ := w.ConnectTo(server, testkit.Lease(600*time.Millisecond))
			h := testkit.MustLock(w.T, testkit.Multi(w.T, e1.Mutex("cut off"), e2.Mutex("living part")))
			l.Hold(time.Now().Add(time.Second))
			time.Sleep(time.Until(h.Deadline()))
			testkit.WantIs(w.T, "Unlock of a lost hold", h.Unlock(testkit.Soon(w.T)), engine.ErrLost)
			time.Sleep(10 * time.Millisecond)
			if keys, held := server.Keys(), e2.Stats().Held; len(keys) != 0 || held != 0 {
				w.T.Errorf("of the living part stand %q and %d holds", keys, held)
			}
		})
	}
}

// The context of a hold says that it is over from the hold's Deadline on, by the clock, also when nobody has had a
// processor to end it; and what a look at the clock has ended stays ended.
// invariant: loss-is-final
func TestLossIsFinalForErrAndContext(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect(testkit.Lease(300 * time.Millisecond))
		for name, parent := range map[string]context.Context{"endless parent": context.Background(), "parent that can end": w.T.Context()} {
			h := testkit.MustLock(w.T, e.Mutex(name))
			ctx := h.Context(parent)
			child, cancel := context.WithCancel(ctx)
			l.Hold(time.Now().Add(500 * time.Millisecond))
			for deadline := h.Deadline(); time.Now().Before(deadline); deadline = h.Deadline() {
				time.Sleep(time.Until(deadline))
			}
			if err := ctx.Err(); err != context.Canceled {
				w.T.Errorf("%s: at the deadline the context's Err is %v", name, err)
			}
			if err := h.Err(); !errors.Is(err, engine.ErrLost) {
				w.T.Errorf("%s: Err is %v", name, err)
			}
			synctest.Wait()
			if <-child.Done(); !errors.Is(context.Cause(child), engine.ErrLost) {
				w.T.Errorf("%s: the cause is %v", name, context.Cause(child))
			}
			cancel()
			time.Sleep(time.Second)
		}
	})
}
