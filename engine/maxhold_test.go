package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A holder that looks at the clock may find the end of its lease or of MaxHold before the loop does. It is told the same.
func TestAHolderWhoFindsTheEndFirstIsToldWhy(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.MaxHold = 30 * time.Millisecond })
	for _, l := range []engine.Locker{e.Mutex("mutex"), e.FencedMutex("fenced"), e.FairMutex("fair"), e.RWMutex("rw").Reader(), e.RWMutex("rw").Writer(), e.Mutex("again")} {
		h := testkit.MustLock(t, l)
		for h.Err() == nil {
		}
		if err := h.Err(); !errors.Is(err, engine.ErrMaxHold) {
			t.Errorf("%s: %v, want ErrMaxHold", h.Name(), err)
		}
	}
	e = testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.MaxHold, o.Lease = time.Hour, 100*time.Millisecond })
	h := testkit.MustLock(t, e.Mutex("lease"))
	server.Freeze()
	defer server.Thaw()
	for h.Err() == nil {
	}
	if err := h.Err(); errors.Is(err, engine.ErrMaxHold) || !errors.Is(err, engine.ErrLost) {
		t.Errorf("without an answer of Redis: %v, want ErrLost", err)
	}
}
