package wheel

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspendTolerance is below the margin of any lease, which is 5 ms at least (dispatcher/gate): what is not noticed must not
// make a hold outlast its key. The two clocks tick at one rate, so only the time between two readings (at most suspendBracket
// each) comes between them.
const suspendTolerance = 2 * time.Millisecond

// suspendBracket is how long the reading of both clocks may take to be believed.
const suspendBracket = time.Millisecond

// suspendAhead compares CLOCK_BOOTTIME with CLOCK_MONOTONIC, on which Go's monotonic clock runs; the kernel
// lets them drift apart only while the machine is suspended.
func suspendAhead(time.Time) (time.Duration, bool) {
	return bracketed(
		func() (time.Duration, bool) { return readClock(unix.CLOCK_MONOTONIC) },
		func() (time.Duration, bool) { return readClock(unix.CLOCK_BOOTTIME) })
}

// bracketed reads mono on both sides of boot and tries again when that took long: a goroutine that is not
// scheduled between the two readings must not look like a suspended machine.
func bracketed(mono, boot gauge) (time.Duration, bool) {
	for range 5 {
		before, ok1 := mono()
		middle, ok2 := boot()
		after, ok3 := mono()
		if ok1 && ok2 && ok3 && after-before <= suspendBracket {
			return middle - before, true
		}
	}
	return 0, false
}

func readClock(id int32) (time.Duration, bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(id, &ts)
	return time.Duration(ts.Nano()), err == nil
}
