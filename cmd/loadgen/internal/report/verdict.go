package report

import (
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// judge finishes the list of problems. What breaks the promise of a lock comes first. A run in which nothing was measured is a
// problem, too: it proves nothing, and a script that reads only the exit code must not take it for a success.
func (r *Result) judge(c *Collector) {
	broken := []string{} // which JSON writes as a list
	k := &r.Checks
	broke := func(n int64, format, how string) {
		if n > 0 {
			broken = append(broken, fmt.Sprintf(format, figures.Number(n, "time"), how))
		}
	}
	broke(k.Violations, "EXCLUSION VIOLATED: %s found in memory: %s", crowded(&r.Plan))
	broke(k.SeenInRedis, "EXCLUSION VIOLATED: %s found by the counter in Redis: %s", crowded(&r.Plan))
	broke(k.Early, "PASSED EARLY: %s: %s", "a latch let a caller through before it was opened")
	broke(k.TokensBack, "TOKENS WENT BACK: %s: %s", "a new owner's fencing token was not larger than one before")
	broke(k.Disordered, "OUT OF TURN: %s: %s", "a fair lock went to one who had asked long after another who still waited")
	if n := len(k.KeysLeft); n > 0 {
		broken = append(broken, fmt.Sprintf("KEYS LEFT in Redis though nobody holds them: %s", few(k.KeysLeft)))
	}
	if n := len(k.PermitsWrong); n > 0 {
		broken = append(broken, fmt.Sprintf("PERMITS LOST OR MADE: not all are back, or more: %s", few(k.PermitsWrong)))
	}
	if n := len(k.Stranded); n > 0 {
		broken = append(broken, fmt.Sprintf("STRANDED: %s left waiting for names that were free: %s", figures.Number(int64(n), "caller"), few(k.Stranded)))
	}
	if k.Stuck > 0 {
		broken = append(broken, fmt.Sprintf("STUCK: %s cancelled in vain", figures.Number(k.Stuck, "call")))
	}
	r.Problems = append(broken, r.Problems...)
	if r.Pairs == 0 && !r.EndedEarly {
		r.Problems = append(r.Problems, "nothing was measured: no call got a lock and gave it back")
	}
	r.OK = len(r.Problems) == 0
}

// Broken reports whether the lock broke its promise: a violation, a key left, a waiter stranded or stuck.
func (r *Result) Broken() bool {
	k := &r.Checks
	return k.Breaches.Broken()+k.Stuck > 0 || len(k.KeysLeft) > 0 || len(k.PermitsWrong) > 0 || len(k.Stranded) > 0
}

// crowded says what a violation is, in the terms of the kind.
func crowded(p *load.Plan) string {
	switch {
	case p.Kind.HasPermits():
		return "more permits were out than there are"
	case p.Kind == load.RW:
		return "a writer was not alone"
	default:
		return "two callers were in the critical section of one name at once"
	}
}

// few lists some of many names: a lock that is broken may leave a million keys behind.
func few(names []string) string {
	const some = 5
	if len(names) <= some {
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:some], " "), len(names)-some)
}
