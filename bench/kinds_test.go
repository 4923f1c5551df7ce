package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// BenchmarkKinds is one pair of each kind after the other: 64 callers, each with a name of its own, and all with one
// name, of which a semaphore has 32 permits.
func BenchmarkKinds(b *testing.B) {
	const callers = 64
	const permits = callers / 2
	server := redistest.Start(b)
	background := context.Background()
	mutex := func(of func(*engine.Engine, string) *engine.Mutex) func(*engine.Engine, string) (func() error, error) {
		return func(e *engine.Engine, name string) (func() error, error) {
			m := of(e, name)
			return func() error {
				h, err := m.Lock(background)
				if err != nil {
					return err
				}
				return h.Unlock(background)
			}, nil
		}
	}
	kinds := []struct {
		name string
		of   func(*engine.Engine, string) (pair func() error, err error)
	}{
		{"Mutex", mutex((*engine.Engine).Mutex)},
		{"FencedMutex", mutex((*engine.Engine).FencedMutex)},
		{"SpinMutex", mutex((*engine.Engine).SpinMutex)},
		{"FairMutex", mutex((*engine.Engine).FairMutex)},
		{"Reader", mutex(func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Reader() })},
		{"Writer", mutex(func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() })},
		{"Semaphore", func(e *engine.Engine, name string) (func() error, error) {
			s := e.Semaphore(name)
			_, err := s.TrySetPermits(background, permits)
			return func() error {
				if err := s.Acquire(background, 1); err != nil {
					return err
				}
				return s.Release(background, 1)
			}, err
		}},
		{"PermitSemaphore", func(e *engine.Engine, name string) (func() error, error) {
			s := e.PermitSemaphore(name)
			_, err := s.TrySetPermits(background, permits)
			return func() error {
				h, err := s.Acquire(background, 1)
				if err != nil {
					return err
				}
				return h.Unlock(background)
			}, err
		}},
	}
	for _, kind := range kinds {
		for _, names := range []int{callers, 1} {
			b.Run(fmt.Sprintf("%s/names=%d", kind.name, names), func(b *testing.B) {
				e := open(b, server, 0)
				var turns [callers]func() error
				for i := range turns {
					pair, err := kind.of(e, fmt.Sprintf("kinds:%s:%d:%d", kind.name, names, i%names))
					if err != nil {
						b.Fatal(err)
					}
					turns[i] = pair
				}
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for i, pair := range turns {
					wg.Go(func() {
						for turn := i; turn < b.N; turn += callers {
							if err := pair(); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}
