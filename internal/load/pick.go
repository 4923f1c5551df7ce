package load

import (
	"math"
	"math/rand/v2"
	"slices"
)

// picker draws names by popularity: the i-th is wanted in proportion to 1/(i+1)^s, for any s from 0 on (the standard library's Zipf wants
// s > 1). It has the sum of the weights up to each name, and is never changed once it is made: any goroutine may draw.
type picker []float64

func newPicker(names int, s float64) picker {
	p, sum := make(picker, names), 0.0
	for i := range p {
		sum += math.Pow(float64(i+1), -s)
		p[i] = sum
	}
	return p
}

func (p picker) pick(random *rand.Rand) int {
	i, _ := slices.BinarySearch(p, random.Float64()*p[len(p)-1])
	return i
}
