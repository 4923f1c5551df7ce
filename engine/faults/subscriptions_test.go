package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// However many wait, and for however many names, an engine listens over one connection, also when that was killed; and some time after
// the last one was served it listens to nothing.
func TestSubscriptionsShareAConnectionAndEnd(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect(testkit.OnlyMessages)
		other, _ := w.Connect(testkit.OnlyMessages)
		engines := []*engine.Engine{e, other}
		const names, waiters = 5, 32
		for i := range names {
			w.Take(fmt.Sprint("stock:", i), time.Hour)
		}
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				err := engine.Do(testkit.Soon(w.T), engines[i%2].Mutex(fmt.Sprint("stock:", i%names)), func(context.Context, *engine.Hold) error { return nil })
				check(w.T, "Do", err)
			})
		}
		for range 2 {
			time.Sleep(time.Second)
			if n := e.Stats().Waiting + other.Stats().Waiting; n != waiters {
				w.T.Errorf("%d wait", n)
			}
			// An inbox each, and the names' own channels for the first in line: of both engines, if the first was cut off for a moment.
			if n, inboxes := len(w.Server.Subscriptions()), names*len(engines); n < inboxes+names || n > 2*inboxes {
				w.T.Errorf("%d channels are listened to", n)
			}
			if n := w.Server.KillListeners(); n != len(engines) {
				w.T.Errorf("%d engines listen over %d connections", len(engines), n)
			}
		}
		for i := range names {
			w.Free(fmt.Sprint("stock:", i))
		}
		wg.Wait()
		w.Quiet(e, 0)
	})
}
