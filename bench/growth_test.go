package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
)

// BenchmarkGrowth is BenchmarkDistinct/1024 beside names that are held, and beside callers who wait for others.
func BenchmarkGrowth(b *testing.B) {
	server := redistest.Start(b)
	for _, held := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			e := open(b, server, 2*held)
			holdMany(b, e, held)
			pairs(b, e, 1024, distinct)
		})
	}
	for _, waiting := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			const names = 1_000
			holdMany(b, open(b, server, 2*names), names)
			e := open(b, server, 2*waiting+2048)
			ctx, cancel := context.WithCancel(context.Background())
			b.Cleanup(cancel)
			for i := range waiting {
				e.Mutex(heldName(i % names)).LockAsync(ctx)
			}
			for e.Stats().Waits < int64(min(waiting, names)) { // refused, and so asleep
				time.Sleep(10 * time.Millisecond)
			}
			pairs(b, e, 1024, distinct)
		})
	}
}

func heldName(i int) string { return fmt.Sprintf("held:%019d", i) }

// holdMany takes n locks, all at once.
func holdMany(b *testing.B, e *engine.Engine, n int) {
	asked := make([]*futures.Future[*engine.Hold], n)
	for i := range asked {
		asked[i] = e.Mutex(heldName(i)).LockAsync(context.Background())
	}
	for _, f := range asked {
		if _, err := f.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
