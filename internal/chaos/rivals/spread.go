package rivals

import (
	"fmt"
	"slices"
	"time"
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
	switch {
	case s.Count == 0:
		return "-"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
}
