package gate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The first of the holds is the one that ends first, however they come, go and are extended. All that live have the deadline of their tenure, or their own
// end; those that have ended keep what they had.
func TestHoldsOfALease(t *testing.T) {
	for seed := range uint64(50) {
		rng, g := rand.New(rand.NewPCG(seed, 0)), Lease{Tenure: Tenure{Deadline: time.Minute}}
		var living, ended []*Hold
		var kept []Time
		for range 300 {
			switch n := rng.IntN(8); {
			case n < 4:
				w := Waiter{Hold: new(Hold), LeaseTime: time.Duration(1+rng.IntN(90)) * time.Second, Watch: rng.IntN(3) == 0}
				g.holds.share(w.Hold, &g.Tenure)
				g.holds.add(w.begin(0, &g.Tenure, Never, 0))
				living = append(living, w.Hold)
			case n < 6 && len(living) > 0:
				i := rng.IntN(len(living))
				h := living[i]
				living = slices.Delete(living, i, i+1)
				g.holds.remove(h)
				h.end()
				ended, kept = append(ended, h), append(kept, h.Deadline())
			case n == 6 && len(living) > 0:
				g.extend(living[rng.IntN(len(living))], time.Duration(rng.IntN(100))*time.Second)
			default:
				g.Deadline += time.Second
				g.follow()
			}
			first := Never
			for _, h := range living {
				first = min(first, h.until.at)
				if got, want := h.Deadline(), min(h.until.at, g.Deadline); got != want {
					t.Fatalf("seed %d: a hold lasts until %v, want %v", seed, got, want)
				}
			}
			if h := g.holds.first; len(living) > 0 != (h != nil) || h != nil && h.until.at != first {
				t.Fatalf("seed %d: first is %+v; of %d the first ends at %v", seed, h, len(living), first)
			}
			if got := slices.Collect(g.holds.all()); len(got) != len(living) {
				t.Fatalf("seed %d: %d holds, want %d", seed, len(got), len(living))
			}
			for i, h := range ended {
				if h.Deadline() != kept[i] {
					t.Fatalf("seed %d: a hold that has ended lasts until %v, before %v", seed, h.Deadline(), kept[i])
				}
			}
		}
	}
}
