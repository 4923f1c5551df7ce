//go:build wheellock_stall

package faults_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/wheel/stall"
)

// A call that unlocks is the last that refers to its Hold. If it is paused before the hold has ended, the collector must not find that dropped.
func TestStalledUnlockIsNotForgotten(t *testing.T) {
	for what, unlock := range map[string]func(h *engine.Hold) error{
		"Unlock":      func(h *engine.Hold) error { return h.Unlock(context.Background()) },
		"UnlockAsync": func(h *engine.Hold) error { return testkit.ResultOf(h.UnlockAsync().Wait(context.Background())) },
		"Detach":      func(h *engine.Hold) error { return testkit.ResultOf(h.Detach(context.Background(), time.Second)) },
	} {
		t.Run(what, func(t *testing.T) {
			virtual.Test(t, func(w *virtual.World) {
				e, _ := w.Connect(func(o *engine.Options) { o.OnForgotten = engine.TellForgotten })
				defer stall.Set(func(point, _ string) {
					if point == "hold: not over, not ended" {
						for range 10 {
							runtime.GC()
							time.Sleep(10 * time.Second) // a third of the lease
						}
					}
				})()
				if err := unlock(testkit.MustLock(w.T, e.Mutex("x"))); err != nil {
					w.T.Error(err)
				}
				if n := e.Stats().Forgotten; n != 0 {
					w.T.Errorf("Stats().Forgotten = %d, want 0", n)
				}
			})
		})
	}
}
