//go:build unix

package usage

import (
	"time"

	"golang.org/x/sys/unix"
)

func ofSystem() (cpu time.Duration, maxRSS int64) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), int64(u.Maxrss)
}
