package testkit

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkPairs measures pairs of many callers on distinct names: lock takes one.
func BenchmarkPairs[H interface{ Unlock(context.Context) error }](b *testing.B, variant string, lock func(ctx context.Context, name string) (H, error)) {
	b.Run(variant, func(b *testing.B) {
		var turn atomic.Int64
		b.SetParallelism(512)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				h, err := lock(b.Context(), fmt.Sprintf("order:%018d", turn.Add(1)))
				if err == nil {
					err = h.Unlock(b.Context())
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
