package load

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPickFollowsPopularity(t *testing.T) {
	const draws = 200_000
	for _, s := range []float64{0, 0.5, 0.99, 2} {
		for _, names := range []int{1, 2, 10, 100} {
			p, random := newPicker(names, s), rand.New(rand.NewPCG(1, 2))
			seen := make([]int, names)
			for range draws {
				seen[p.pick(random)]++
			}
			sum := 0.0
			for i := range seen {
				sum += math.Pow(float64(i+1), -s)
			}
			for i, n := range seen {
				want := draws * math.Pow(float64(i+1), -s) / sum
				// The seed is fixed, so this is no matter of luck: 5 standard deviations, for all 450 of them.
				if off := math.Abs(float64(n) - want); off > 5*math.Sqrt(want)+1 {
					t.Errorf("s=%g: name %d of %d drawn %d times, want about %.0f", s, i, names, n, want)
				}
			}
		}
	}
}

func TestPickRepeatsWithItsSeed(t *testing.T) {
	p := newPicker(1000, 0.99)
	a, b := rand.New(rand.NewPCG(7, 1)), rand.New(rand.NewPCG(7, 1))
	for range 1000 {
		if x, y := p.pick(a), p.pick(b); x != y {
			t.Fatalf("drew %d and %d with the same seed", x, y)
		}
	}
}
