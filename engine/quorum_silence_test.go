package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A majority that is silent for a while is waited for, as long as the context says.
func TestQuorumWaitsForASilentMajority(t *testing.T) {
	t.Parallel()
	f := startFleet(t, engine.Options{Lease: 10 * time.Second})
	q := f.lock(t)
	silence := func(on bool) {
		for i := range 3 {
			f.proxies[i].BlackHole(redistest.Both, on)
		}
	}
	silence(true)
	time.AfterFunc(2*time.Second, func() { silence(false) })
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	h, err := q.Lock(ctx)
	if err != nil {
		t.Fatalf("Lock did not wait: %v", err)
	}
	testkit.MustUnlock(t, h)
}
