// Package bench measures the engine's hot paths with testing.B, on a redis-server of its own.
//
// bench/peers, a module of its own, does such work with rival libraries beside it, and cmd/loadgen with every kind of lock.
package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// open opens an engine.
func open(b *testing.B, s *redistest.Server) *engine.Engine {
	e, err := engine.Open(context.Background(), engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}})
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
			pairs(b, open(b, server), callers, distinct)
		})
	}
}

func distinct(_, turn int) string { return fmt.Sprintf("bench:%018d", turn) }
