package rivals

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// A spread is how durations lie, in ns.
type spread struct {
	Count                        int
	Smallest, Median, P99, Worst time.Duration
}

func spreadOf(all []time.Duration) spread {
	n := len(all)
	if n == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{n, all[0], all[n/2], all[min(n-1, n*99/100)], all[n-1]}
}

// show is one of a spread's figures, as a table has it.
func (s spread) show(d time.Duration) string {
	if s.Count == 0 {
		return "-"
	}
	return figures.Short(d)
}
