package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

func TestZZ(t *testing.T) {
	for _, cut := range []bool{false, true} {
		virtual.Test(t, func(w *virtual.World) {
			s := w.Serve("a")
			var wg sync.WaitGroup
			counts := make([][2]int, 24)
			end := time.Now().Add(20 * time.Second)
			for p := range counts {
				e, link := w.ConnectTo(s, func(o *engine.Options) { o.Lease = 2 * time.Second })
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(p), 1))
					if cut && p >= 12 {
						wg.Go(func() {
							for time.Now().Before(end) {
								time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
								link.Up.Lose(time.Now().Add(3 * time.Second))
								link.Down.Lose(time.Now().Add(3 * time.Second))
							}
						})
					}
					for time.Now().Before(end) {
						l, which := e.RWMutex("rw").Reader(), 0
						var lk engine.Locker = l
						if r.IntN(2) == 0 {
							lk, which = e.RWMutex("rw").Writer(), 1
						}
						ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
						h, err := lk.Lock(ctx)
						stop()
						if err != nil {
							continue
						}
						if time.Now().Before(end) {
							counts[p][which]++
						}
						time.Sleep(5 * time.Millisecond)
						_ = h.Unlock(context.Background())
					}
				})
			}
			wg.Wait()
			fmt.Println(cut, counts)
		})
	}
	_ = testkit.MustLock
}
