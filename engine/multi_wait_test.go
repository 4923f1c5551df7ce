package engine_test

import (
	"errors"
	"fmt"
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

// A MultiLock of many names that others have asks for a few others whenever it has waited for one, and not for all that are left.
func TestMultiLockOfManyTakenNamesAsksForFew(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		o, _ := w.Connect()
		names := make([]string, 100)
		var holds []*engine.Hold
		for i := range names {
			names[i] = fmt.Sprintf("n%02d", i)
			holds = append(holds, testkit.MustLock(w.T, o.Mutex(names[i])))
		}
		m, err := e.All(names...)
		testkit.Must(w.T, err)
		all := m.LockAsync(w.T.Context())
		for _, h := range holds {
			time.Sleep(20 * time.Millisecond) // it has the names before, and waits for this one
			testkit.MustUnlock(w.T, h)
		}
		h, err := all.Wait(w.T.Context())
		testkit.Must(w.T, err)
		testkit.MustUnlock(w.T, h)
		if n := e.Stats().Attempts; n > int64(15*len(names)) { // all at first, then for each of them 8 others, and in line
			w.T.Errorf("it asked %d times for %d names", n, len(names))
		}
	})
}
