// Package bench measures the engine's hot paths with testing.B, on a redis-server of its own.
//
// bench/peers, a module of its own, does the same work with rival libraries beside it.
package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// open opens an engine that takes so many requests at once; 0: the default.
func open(b *testing.B, s *redistest.Server, requests int) *engine.Engine {
	e, err := engine.Open(context.Background(), engine.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}, MaxRequests: requests,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// pairs runs b.N Lock and Unlock pairs from so many callers.
func pairs(b *testing.B, e *engine.Engine, callers int, name func(caller, turn int) string) {
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for turn := caller; turn < b.N; turn += callers {
				var l engine.Locker = e.Mutex(name(caller, turn))
				h, err := l.Lock(context.Background(), engine.WithWait(30*time.Second))
				if err != nil {
					b.Error(err)
					return
				}
				if err := h.Unlock(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkDistinct(b *testing.B) {
	server := redistest.Start(b)
	for _, callers := range []int{1, 64, 1024, 4096} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			pairs(b, open(b, server, 0), callers, distinct)
		})
	}
}

func distinct(_, turn int) string { return fmt.Sprintf("bench:%018d", turn) }

func BenchmarkHot(b *testing.B) {
	server := redistest.Start(b)
	for _, callers := range []int{64, 1024} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			pairs(b, open(b, server, 0), callers, func(caller, turn int) string { return "bench:000000000000000hot" })
		})
	}
}

// BenchmarkAsync is the work of BenchmarkDistinct with so many pairs in flight, without goroutines of callers.
func BenchmarkAsync(b *testing.B) {
	const inFlight = 4096
	e := open(b, redistest.Start(b), 0)
	b.ReportAllocs()
	b.ResetTimer()
	var turns atomic.Int64
	var running sync.WaitGroup
	running.Add(inFlight)
	var next func()
	unlocked := func(_ struct{}, err error) {
		if err != nil {
			b.Error(err)
		}
		next()
	}
	locked := func(h *engine.Hold, err error) {
		if err != nil {
			b.Error(err)
			running.Done()
			return
		}
		h.UnlockAsync().Then(unlocked)
	}
	next = func() {
		turn := turns.Add(1)
		if turn > int64(b.N) {
			running.Done()
			return
		}
		e.Mutex(fmt.Sprintf("bench:%018d", turn)).LockAsync(context.Background(), engine.WithWait(30*time.Second)).Then(locked)
	}
	for range inFlight {
		next()
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
