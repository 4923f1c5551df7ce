package bubble

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// record is what happened in a world, in order. Any goroutine may use it.
type record struct {
	began time.Time

	mu      sync.Mutex // guards the rest
	events  []event
	skipped int
	wrong   []string
}

// event is what happened, formatted when it is read.
type event struct {
	at     time.Duration
	format string
	args   []any
}

// mostEvents is how many are kept; the list that is printed is shorter.
const mostEvents = 20_000

// note notes an event. What args point to must not change.
func (r *record) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) >= mostEvents {
		r.skipped += mostEvents / 2
		r.events = append(r.events[:0], r.events[mostEvents/2:]...)
	}
	r.events = append(r.events, event{time.Since(r.began), format, args})
}

// violation notes that a promise was broken.
func (r *record) violation(oracle, format string, args ...any) {
	text := fmt.Sprintf("%v: %s: %s", time.Since(r.began), oracle, fmt.Sprintf(format, args...))
	r.note("VIOLATION %s", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, text)
}

// failed reports whether anything was wrong.
func (r *record) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wrong) > 0
}

// list is the last events before the first violation, and what followed at once.
func (r *record) list(most int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.events)
	for i, e := range r.events {
		if strings.HasPrefix(e.format, "VIOLATION") {
			last = min(i+5, last)
			break
		}
	}
	var b strings.Builder
	for i, e := range r.events[max(0, last-most):last] {
		fmt.Fprintf(&b, "%4d %14v  %s\n", r.skipped+max(0, last-most)+i+1, e.at, fmt.Sprintf(e.format, e.args...))
	}
	return b.String()
}
