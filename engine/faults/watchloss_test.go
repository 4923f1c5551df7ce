package faults_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// However a name became ours, Redis tells when its key goes. No renewal comes meanwhile.
func TestFaultWatchLossHoweverItBecameOurs(t *testing.T) {
	t.Parallel()
	servers := map[string]func(testing.TB, ...string) *redistest.Server{"redis": redistest.Start, "a newer Redis": redistest.StartNewer}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.WatchLoss, o.Lease, o.PollCap = true, time.Hour, 300*time.Millisecond })
			outside := testkit.NewOutsider(t, server.Addr())
			told := func(t *testing.T, h *engine.Hold, err error) {
				t.Helper()
				testkit.Must(t, err)
				time.Sleep(100 * time.Millisecond) // sleeps: what was given by a message is renewed at once
				server.MustDo("DEL", h.Name())
				select {
				case <-h.Done():
				case <-time.After(5 * time.Second):
					t.Error("the holder is not told")
				}
			}
			t.Run("after a wait", func(t *testing.T) {
				outside.Take("waited", time.Hour)
				waiter := e.Mutex("waited").LockAsync(testkit.Soon(t))
				redistest.Await(t, "a place in line", func() bool { return testkit.InLine(server, "waited") == 1 })
				server.MustDo("DEL", "waited") // nobody publishes that: the engine asks when it polls
				h, err := waiter.Wait(testkit.Soon(t))
				told(t, h, err)
			})
			t.Run("by Adopt", func(t *testing.T) {
				outside.Take("adopted", time.Hour)
				h, err := e.Mutex("adopted").Adopt(testkit.Soon(t), outside.Owner)
				told(t, h, err)
			})
			t.Run("a fair mutex", func(t *testing.T) { told(t, testkit.MustLock(t, e.FairMutex("fair")), nil) })
			t.Run("a fair mutex that was handed over", func(t *testing.T) {
				first := testkit.MustLock(t, e.FairMutex("handed"))
				second := e.FairMutex("handed").LockAsync(testkit.Soon(t))
				redistest.Await(t, "a queue", func() bool { return server.MustDo("LLEN", "redisson_lock_queue:{handed}").Int == 1 })
				testkit.MustUnlock(t, first)
				h, err := second.Wait(testkit.Soon(t))
				told(t, h, err)
			})
			t.Run("beside a reader who has left", func(t *testing.T) {
				readers := e.RWMutex("read").Reader()
				first := testkit.MustLock(t, readers)
				time.Sleep(50 * time.Millisecond) // sleeps: longer than HandoffTime, so the next one asks Redis
				second := testkit.MustLock(t, readers)
				testkit.MustUnlock(t, first)
				told(t, second, nil)
			})
		})
	}
}
