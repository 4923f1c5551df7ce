//go:build wheellock_stall

package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/wheel/stall"
)

// Invariant: loss is final, also when the loop is paused between its reading of the clock and the answer to a renewal.
//
//  1. The deadline of a hold is near; its renewals are held up.
//  2. They are answered. The loop reads the clock and is paused.
//  3. The deadline passes, and the holder finds its hold over.
//  4. The loop goes on with the old time. It must not renew for nobody.
//
// invariant: loss-is-final
func TestStalledLossIsFinal(t *testing.T) {
	for what, look := range map[string]func(h *engine.Hold) error{
		"Err":     func(h *engine.Hold) error { return h.Err() },
		"Unlock":  func(h *engine.Hold) error { return h.Unlock(t.Context()) },
		"Context": func(h *engine.Hold) error { h.Context(t.Context()).Err(); return h.Err() },
	} {
		t.Run(what, func(t *testing.T) {
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			for range 8 {
				e := testkit.Connect(t, proxy.Addr(), testkit.Lease(600*time.Millisecond))
				h := testkit.MustLock(t, e.Mutex("x"))
				granted := time.Now()
				undo := stall.Set(func(point, _ string) {
					if point == dispatcher.ClockRead {
						time.Sleep(150 * time.Millisecond)
					}
				})
				time.Sleep(150 * time.Millisecond)
				proxy.BlackHole(redistest.Both, true)
				time.Sleep(time.Until(granted.Add(500 * time.Millisecond)))
				proxy.BlackHole(redistest.Both, false)
				for h.Err() == nil && time.Since(granted) < 650*time.Millisecond {
				}
				err := look(h)
				undo()
				if err == nil && h.Err() == nil { // it was renewed in time, and look did not unlock it
					testkit.MustUnlock(t, h)
				} else if err != nil && !errors.Is(err, engine.ErrLost) {
					t.Fatal(err)
				}
				redistest.Await(t, "the lock to be free", func() bool { return len(testkit.Owners(server, "x")) == 0 })
				if again := h.Err(); again == nil {
					t.Errorf("Err was %v and is nil again", err)
				}
				e.Close()
			}
		})
	}
}
