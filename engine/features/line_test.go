package features_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Engines get a mutex in the order in which they came, and one that has had it goes to the end. TryLock does not come between.
// invariant: others-get-a-turn
func TestEnginesAreServedInTheOrderOfTheirLine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for kind, of := range map[string]func(*engine.Engine) *engine.Mutex{
		"plain":  func(e *engine.Engine) *engine.Mutex { return e.Mutex("plain") },
		"fenced": func(e *engine.Engine) *engine.Mutex { return e.FencedMutex("fenced") },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var engines [3]*engine.Engine
			var waits [3]*futures.Future[*engine.Hold]
			held := testkit.MustLock(t, of(testkit.Connect(t, server.Addr())))
			wait := func(i int) {
				t.Helper()
				waits[i] = of(engines[i]).LockAsync(context.Background())
				own := engines[i].ID()
				redistest.Await(t, "a place at the end", func() bool {
					var last string
					for _, member := range server.MustDo("ZRANGE", scripts.LineKey(kind), "0", "-1").Texts() {
						if member != "since" {
							last = member
						}
					}
					return len(last) > len(own) && last[:len(own)] == own
				})
			}
			for i := range engines {
				engines[i] = testkit.Connect(t, server.Addr())
				wait(i)
			}
			late := of(testkit.Connect(t, server.Addr()))
			for turn := range 7 {
				testkit.MustUnlock(t, held)
				if turn == 0 {
					if _, err := late.TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrHeld) {
						t.Fatalf("TryLock beside a line: %v", err)
					}
				}
				next := testkit.MustWait(t, waits[turn%3])
				if held = next; turn > 0 {
					wait((turn - 1) % 3)
				}
			}
			testkit.MustUnlock(t, held)
		})
	}
}
