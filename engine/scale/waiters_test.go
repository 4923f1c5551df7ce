package scale_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// gauge measures what a number of things cost.
type gauge struct {
	goroutines int
	heap       uint64
}

func readGauge() gauge {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the first empties the pools
	runtime.ReadMemStats(&m)
	return gauge{runtime.NumGoroutine(), m.HeapAlloc}
}

// wantCheap prints what n things have cost since before, and asserts that no goroutines have come with
// them and at most so many bytes for each.
func wantCheap(t *testing.T, what string, n int, before gauge, most int64) gauge {
	t.Helper()
	now := readGauge()
	each := (int64(now.heap) - int64(before.heap)) / int64(n)
	t.Logf("%d %s: %d goroutines more, %d bytes each", n, what, now.goroutines-before.goroutines, each)
	if now.goroutines-before.goroutines > 16 { // a connection has five, and callback workers may come and go
		t.Errorf("%d %s: %d goroutines, before %d", n, what, now.goroutines, before.goroutines)
	}
	if each > most {
		t.Errorf("%s: %d bytes each, want at most %d", what, each, most)
	}
	return now
}

// queueMany has so many callers wait for names in turn.
func queueMany(e *engine.Engine, n, names int, under func() context.Context) []*futures.Future[*engine.Hold] {
	waiters := make([]*futures.Future[*engine.Hold], n)
	for i := range waiters {
		waiters[i] = e.Mutex(testkit.Name24("others", i%names)).LockAsync(under(), engine.WithWait(time.Hour))
	}
	return waiters
}

// wantCanceled waits until all are settled, and says how long that took since start.
func wantCanceled(t *testing.T, waiters []*futures.Future[*engine.Hold], start time.Time) time.Duration {
	t.Helper()
	for _, f := range waiters {
		if _, err := f.Wait(t.Context()); !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled waiter got %v", err)
		}
	}
	return time.Since(start)
}

func TestScaleOfHoldsAndWaiters(t *testing.T) {
	measures(t)
	const held, waiting, names, alone = 10_000, 100_000, 1_000, 10_000
	server := redistest.Start(t)
	e, others := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	testkit.LockMany(t, others, "others", names)

	before := readGauge()
	holds := testkit.LockMany(t, e, "ours", held)
	before = wantCheap(t, "holds", held, before, 800)

	shared, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiters := queueMany(e, waiting, names, func() context.Context { return shared })
	redistest.Await(t, "every name to be listened to", func() bool { return len(server.Subscriptions().Channels) == names })
	before = wantCheap(t, "waiters", waiting, before, 500)

	cancels := make([]context.CancelFunc, 0, alone)
	more := queueMany(e, alone, names, func() context.Context {
		own, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		return own
	})
	wantCheap(t, "waiters with contexts of their own", alone, before, 1400) // the context included
	if got := e.Stats(); got.Waiting != waiting+alone || got.Held != held {
		t.Errorf("waiting %d, held %d; want %d, %d", got.Waiting, got.Held, waiting+alone, held)
	}

	most := time.Second
	start := time.Now()
	cancel()
	took := wantCanceled(t, waiters, start)
	if t.Logf("%d waiters of one context were settled in %v", waiting, took); took > most {
		t.Errorf("settling took %v, want at most %v", took, most)
	}
	for _, cancel := range cancels {
		cancel()
	}
	wantCanceled(t, more, start)
	redistest.Await(t, "nobody to listen", func() bool { return server.Subscriptions().Count() == 0 })
	if got := e.Stats().Waiting; got != 0 {
		t.Errorf("waiting %d, want 0", got)
	}
	runtime.KeepAlive(holds)
}
