package chaos

import (
	"slices"

	kit "github.com/wheellock/wheellock/internal/testkit/figures"
)

// measure is something that a soak counts, and by how much it may grow: what is under way varies.
type measure struct {
	name  string
	share float64 // of what it was
	slack float64 // and so much besides
}

// trend is how a measure went.
type trend struct {
	What         string
	Second, Last float64 // medians of these quarters
	Most         float64
	Allowed      float64 // of Last
	Grew         bool    // by more than is allowed
}

// fewest values are needed for a judgement.
const fewest = 8

// judge compares the medians of the second and the last quarter of the values: the first quarter is for warming up, and
// a median does not mind single values. Too few values count as growth: they show nothing.
func (m measure) judge(values []float64) trend {
	t := trend{What: m.name, Grew: true}
	if len(values) < fewest {
		return t
	}
	quarter := len(values) / 4
	t.Second, t.Last, t.Most = kit.Median(values[quarter:2*quarter]), kit.Median(values[len(values)-quarter:]), slices.Max(values)
	t.Allowed = t.Second*(1+m.share) + m.slack
	t.Grew = t.Last > t.Allowed
	return t
}
