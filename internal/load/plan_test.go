package load

import (
	"slices"
	"testing"
)

func TestCallersGrowByAFactor(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want []int
	}{
		{Plan{Workers: 5}, []int{5}},
		{Plan{From: 8, Workers: 512, Steps: 7}, []int{8, 16, 32, 64, 128, 256, 512}},
		{Plan{From: 1, Workers: 10, Steps: 2}, []int{1, 10}},
		{Plan{From: 1, Workers: 3, Steps: 5}, []int{1, 1, 2, 2, 3}},
		{Plan{FromRate: 1, Rate: 100, Workers: 3, Steps: 3}, []int{3, 3, 3}},
	} {
		var got []int
		for step := range max(c.plan.Steps, 1) {
			got = append(got, c.plan.Callers(step))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.plan, got, c.want)
		}
	}
}
