//go:build unix

package bench

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

func open(b *testing.B) *engine.Engine {
	server := redistest.Start(b)
	e, err := engine.Open(context.Background(), engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{server.Addr()}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// pairs runs b.N Lock and Unlock pairs from so many callers.
func pairs(b *testing.B, callers int, name func(caller, turn int) string) {
	e := open(b)
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
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
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "client-µs/pair")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDistinct(b *testing.B) {
	for _, callers := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			pairs(b, callers, func(caller, turn int) string { return fmt.Sprintf("bench:%018d", turn) })
		})
	}
}

func BenchmarkHot(b *testing.B) {
	for _, callers := range []int{64, 1024} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			pairs(b, callers, func(caller, turn int) string { return "bench:000000000000000hot" })
		})
	}
}

// BenchmarkAsync keeps 4096 LockAsync().Then in flight.
func BenchmarkAsync(b *testing.B) {
	e := open(b)
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	room := make(chan struct{}, 4096)
	for turn := range b.N {
		room <- struct{}{}
		e.Mutex(fmt.Sprintf("bench:%018d", turn)).LockAsync(context.Background()).Then(func(h *engine.Hold, err error) {
			if err != nil {
				b.Error(err)
				<-room
				return
			}
			h.UnlockAsync().Then(func(_ struct{}, err error) {
				if err != nil {
					b.Error(err)
				}
				<-room
			})
		})
	}
	for range cap(room) {
		room <- struct{}{}
	}
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "client-µs/pair")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
