package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Invariant: an acquire that arrives after its last clean-up takes nothing. What the engine knows of the server's clock
// must never be ahead of the truth, however long the question for it took:
//
//  1. TIME takes up to 1.4 s to the server; its answer comes at once.
//  2. An acquire is held up in the network for 2.5 s; the engine has released its owner id twice by then.
//  3. It is delivered, and must be refused as too late.
//
// invariant: late-acquire-does-nothing
func TestLateAcquireTakesNothingAfterASlowReadingOfTheClock(t *testing.T) {
	t.Parallel()
	for slow := time.Duration(0); slow <= 1400*time.Millisecond; slow += 200 * time.Millisecond {
		virtual.Test(t, func(w *virtual.World) {
			e, l := w.Connect()
			w.Server.SlowTime(slow)
			asked := 0
			w.Server.Hear(func(args []string) {
				if args[0] == "TIME" {
					asked++
				}
			})
			for range 110 {
				testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("busy"))) // keeps a connection; every 10 s one asks for the time
				time.Sleep(100 * time.Millisecond)
			}
			w.Server.Hear(nil)
			w.Server.SlowTime(0)
			if asked == 0 {
				w.T.Error("nobody asked for the time")
			}
			l.HoldUp(time.Now().Add(2500 * time.Millisecond)) // of these connections only
			if h, err := e.Mutex("late").TryLock(context.Background()); err == nil {
				w.T.Errorf("granted: %v", h)
			}
			time.Sleep(3 * time.Second)
			if o := w.Owners("late"); len(o) > 0 {
				w.T.Errorf("after TIME took %v: taken after the last clean-up by %q, which nobody stands for, for another %v", slow, o, w.Server.Do("PTTL", "late"))
			}
		})
	}
}
