package doctor

import (
	"fmt"
	"slices"
	"time"
)

// latency judges the round trips by the lease. A hold is renewed after a third of its lease, and the renewal may have to be sent again.
func latency(n *node) []Finding {
	var took []time.Duration
	for _, s := range n.samples() {
		took = append(took, s.read-s.sent)
	}
	if n.err != nil {
		return nil
	}
	slices.Sort(took)
	p50, p99, most := took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	what := fmt.Sprintf("p50 %v, p99 %v, max %v of %d round trips; the lease is %v", round(p50), round(p99), round(most), len(took), n.lease)
	longer := fmt.Sprintf("set Options.Lease of all engines to %v at least, or move Redis nearer", round(30*p99))
	switch {
	case p99 >= n.lease/3:
		return found(Error, what, "Renewals are answered too late: holders lose their locks.", longer)
	case p99 >= n.lease/10:
		return found(Warning, what, "A renewal that has to be sent again is answered too late: its holder loses the lock.", longer)
	case most >= n.lease/3:
		return found(Warning, what, "A renewal would have been answered too late: its holder loses the lock.",
			"find out what stopped the server or the network (redis-cli --latency, SLOWLOG GET, LATENCY DOCTOR)")
	}
	return fine(what)
}
