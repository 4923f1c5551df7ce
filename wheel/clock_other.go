//go:build !linux

package wheel

import "time"

// suspendTolerance lets the wall clock be corrected by up to this much between two checks.
const suspendTolerance = time.Second

// suspendAhead compares the wall clock with Go's monotonic clock.
func suspendAhead(start time.Time) (time.Duration, bool) {
	return wallAhead(start), true
}

// wallAhead says how far the wall clock has run ahead of the monotonic one since start. Both come from one
// reading, so no pause can get between them.
func wallAhead(start time.Time) time.Duration {
	t := time.Now()
	return t.Round(0).Sub(start.Round(0)) - t.Sub(start)
}
