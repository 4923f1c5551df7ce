//go:build wheellock_stall

package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
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
		"Unlock":  func(h *engine.Hold) error { return h.Unlock(context.Background()) },
		"Context": func(h *engine.Hold) error { h.Context(context.Background()).Err(); return h.Err() },
	} {
		t.Run(what, func(t *testing.T) {
			for answered := 400 * time.Millisecond; answered < 600*time.Millisecond; answered += 10 * time.Millisecond {
				virtual.Test(t, func(w *virtual.World) { stallAtAnswer(w, answered, look) })
			}
		})
	}
}

// stallAtAnswer has the renewals of a hold answered so long after its grant.
func stallAtAnswer(w *virtual.World, answered time.Duration, look func(h *engine.Hold) error) {
	const lease = 600 * time.Millisecond
	e, l := w.Connect(testkit.Lease(lease))
	h := testkit.MustLock(w.T, e.Mutex("x"))
	granted := time.Now()
	defer stall.Set(func(point, _ string) {
		if point == dispatcher.ClockRead {
			time.Sleep(150 * time.Millisecond)
		}
	})()
	time.Sleep(150 * time.Millisecond)
	l.Hold(granted.Add(answered))
	for h.Err() == nil && time.Since(granted) < lease+50*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
	err := look(h)
	if err == nil && h.Err() == nil { // it was renewed in time, and look did not unlock it
		testkit.MustUnlock(w.T, h)
	} else if err != nil && !errors.Is(err, engine.ErrLost) {
		w.T.Fatal(err)
	}
	w.Quiet(e, 0)
	if again := h.Err(); again == nil {
		w.T.Errorf("Err was %v and is nil again", err)
	}
}
