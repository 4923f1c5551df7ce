package load

import (
	"math"
	"math/rand/v2"
)

// picker draws names by popularity: the i-th is wanted in proportion to 1/(i+1)^s. It is Walker's alias
// table, so a draw costs the same for two names and for a million, and any s from 0 on will do (the standard
// library's Zipf wants s > 1). It is never changed once it is made: any goroutine may draw.
type picker struct {
	keep  []float64 // the chance to keep column i
	alias []int32   // and the name that is meant otherwise
}

func newPicker(names int, s float64) picker {
	weights, sum := make([]float64, names), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -s)
		sum += weights[i]
	}
	p := picker{keep: make([]float64, names), alias: make([]int32, names)}
	var small, large []int32
	for i := range weights {
		p.keep[i] = weights[i] / sum * float64(names)
		if p.keep[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 { // each large one fills up the columns of small ones
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		p.alias[s] = l
		if p.keep[l] -= 1 - p.keep[s]; p.keep[l] < 1 {
			large, small = large[:len(large)-1], append(small, l)
		}
	}
	for _, i := range append(small, large...) { // what rounding left over
		p.keep[i] = 1
	}
	return p
}

func (p *picker) pick(random *rand.Rand) int {
	i := random.IntN(len(p.keep))
	if p.keep[i] < 1 && random.Float64() >= p.keep[i] {
		return int(p.alias[i])
	}
	return i
}
