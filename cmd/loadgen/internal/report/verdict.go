package report

import (
	"fmt"
	"strings"
)

// judge finishes the list of problems. What breaks the promise of a lock comes first.
func (r *Result) judge(c *Collector) {
	var broken []string
	k := &r.Checks
	if n := k.Violations; n > 0 {
		broken = append(broken, fmt.Sprintf("EXCLUSION VIOLATED: %s found in memory: two callers were in the critical section of one name at once", number(n, "time")))
	}
	if n := k.SeenByRedis; n > 0 {
		broken = append(broken, fmt.Sprintf("EXCLUSION VIOLATED: %s found by the counter in Redis: two callers were in the critical section of one name at once", number(n, "time")))
	}
	if n := len(k.KeysLeft); n > 0 {
		broken = append(broken, fmt.Sprintf("KEYS LEFT in Redis though nobody holds them: %s", few(k.KeysLeft)))
	}
	if n := len(k.Stranded); n > 0 {
		broken = append(broken, fmt.Sprintf("STRANDED: %s left waiting for names that were free: %s", number(int64(n), "caller"), few(k.Stranded)))
	}
	if k.Stuck > 0 {
		broken = append(broken, fmt.Sprintf("STUCK: %s cancelled in vain", number(k.Stuck, "call")))
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
	return k.Violations > 0 || k.SeenByRedis > 0 || len(k.KeysLeft) > 0 || len(k.Stranded) > 0 || k.Stuck > 0
}

// few lists some of many names.
func few(names []string) string {
	const some = 5
	if len(names) <= some {
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:some], " "), len(names)-some)
}
