//go:build !linux

package wheel

import "time"

// suspendTolerance lets the wall clock be corrected by up to this much between two checks.
const suspendTolerance = time.Second

// suspendAhead compares the wall clock with Go's monotonic clock.
func suspendAhead(start time.Time) (time.Duration, bool) {
	return wallAhead(start), true
}
