package testkit

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// Variant is one way to take a lock and to give it back.
type Variant struct {
	Name string
	Pair func(ctx context.Context, name string) error
}

// CompareVariants measures pairs of 1,024 callers on distinct names, five rounds of all variants in turn, and prints the medians: of the
// figures, and of how they differ from those of the first variant in the same round.
func CompareVariants(b *testing.B, variants ...Variant) {
	const callers, rounds = 1024, 5
	type figure struct{ Pairs, Micros, Allocs, Bytes float64 }
	measured := make([][]figure, len(variants))
	for round := range rounds {
		for i, v := range variants {
			var last figure // of the run that counts, which is the last
			b.Run(fmt.Sprintf("%s/%d", v.Name, round), func(b *testing.B) {
				before := usage.Now()
				b.ResetTimer()
				var wg sync.WaitGroup
				for caller := range callers {
					wg.Go(func() {
						for turn := caller; turn < b.N; turn += callers {
							if err := v.Pair(context.Background(), fmt.Sprintf("order:%018d", turn)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				took, n := b.Elapsed().Seconds(), float64(b.N)
				used := usage.Now()
				figures.Subtract(&used, &before)
				last = figure{n / took, float64(used.CPU.Microseconds()) / n, float64(used.Allocs) / n, float64(used.Bytes) / n}
				b.ReportMetric(last.Pairs, "pairs/s")
				b.ReportMetric(last.Micros, "cpu-µs/pair")
			})
			measured[i] = append(measured[i], last)
		}
	}
	for i, v := range variants {
		var against []figure // the first variant of the same round, which had the same load beside it
		for round, m := range measured[i] {
			first := measured[0][round]
			against = append(against, figure{Pairs: 100 * (m.Pairs/first.Pairs - 1), Micros: 100 * (m.Micros/first.Micros - 1)})
		}
		m, more := figures.Medians(measured[i]), figures.Medians(against)
		fmt.Printf("%-20s %9s pairs/s (%+.1f %%)  %.2f µs of client CPU a pair (%+.1f %%)  %.1f allocations (%.0f B)\n",
			v.Name, figures.Grouped(int64(m.Pairs)), more.Pairs, m.Micros, more.Micros, m.Allocs, m.Bytes)
	}
}

// Pairs is the variant that locks mutexes of e.
func Pairs(name string, e *engine.Engine) Variant {
	return Variant{name, func(ctx context.Context, name string) error {
		h, err := e.Mutex(name).Lock(ctx, engine.WithWait(Patience))
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}}
}
