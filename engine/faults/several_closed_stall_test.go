//go:build wheellock_stall

package faults_test

import (
	"errors"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/wheel/stall"
)

// Close ends the parts of a hold one after the other. A caller that finds too few of them hears that it was Close, and not that locks were lost.
func TestStalledCloseOfSeveral(t *testing.T) {
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		all, err := e.All("a", "b", "c")
		testkit.Must(w.T, err)
		h := testkit.MustLock(w.T, all)
		var seen error
		defer stall.Set(func(point, _ string) {
			if point == "composite: part lost, not ended" && seen == nil {
				seen = h.Err()
			}
		})()
		testkit.Must(w.T, e.Close())
		if !errors.Is(seen, engine.ErrClosed) || !errors.Is(h.Err(), engine.ErrClosed) {
			w.T.Errorf("while Close ends the parts: %v; afterwards: %v", seen, h.Err())
		}
	})
}
