package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Invariant: WithWait bounds a MultiLock also while a server does not answer.
func TestMultiWaitEndsWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		m := testkit.Multi(w.T, e.Mutex("x"), e.Mutex("y"))
		l.Down.Lose(time.Now().Add(time.Hour))
		const wait = 50 * time.Millisecond
		began := time.Now()
		_, err := m.Lock(w.T.Context(), engine.WithWait(wait))
		if took := time.Since(began); took != wait {
			w.T.Errorf("Lock with a wait of %v took %v", wait, took)
		}
		if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrUnavailable) {
			w.T.Errorf("Lock: %v, want ErrWaitTimeout and ErrUnavailable", err)
		}
	})
}
