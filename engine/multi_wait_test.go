package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Invariant: WithWait bounds a MultiLock also while a server does not answer.
func TestMultiWaitEndsWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	m, err := engine.Multi(e.Mutex("x"), e.Mutex("y"))
	if err != nil {
		t.Fatal(err)
	}
	proxy.BlackHole(redistest.Both, true)
	const wait = 50 * time.Millisecond
	pace := testkit.Pace(t, func() { server.Do("PING") })
	_, err = m.Lock(t.Context(), engine.WithWait(wait))
	if took := pace(); took > 500*time.Millisecond {
		t.Errorf("Lock with a wait of %v took %v", wait, took)
	}
	if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Lock: %v, want ErrWaitTimeout and ErrUnavailable", err)
	}
}
