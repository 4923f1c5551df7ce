package features_test

import (
	"slices"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A server that stands still cannot have freed anything.
func TestCloseEndsHoldsBeforeTheirKeysAreFreed(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	holds := testkit.LockMany(t, e, "ours", 1_000)
	waiter := e.Mutex(testkit.Name24("ours", 0)).LockAsync(t.Context())
	server.Freeze()
	ended := make(chan error, 1)
	go func() { ended <- e.Close() }()
	redistest.Await(t, "all holds to end while the server stands still", func() bool {
		return !slices.ContainsFunc(holds, func(h *engine.Hold) bool { return h.Err() == nil })
	})
	for _, h := range holds {
		<-h.Done()
	}
	testkit.WantIs(t, "the waiter", testkit.ResultOf(waiter.Result()), engine.ErrClosed)
	server.Thaw()
	if err := <-ended; err != nil {
		t.Errorf("Close: %v", err)
	}
	if keys := server.Keys(); len(keys) > 0 {
		t.Errorf("%d keys are left", len(keys))
	}
}
