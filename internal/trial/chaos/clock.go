package chaos

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// instant is a reading of CLOCK_MONOTONIC in nanoseconds, which means the same in every process of the machine.
type instant int64

// never is later than every instant.
const never instant = 1<<63 - 1

func now() instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("chaos: no monotonic clock: %v", err))
	}
	return instant(ts.Nano())
}

// of is when t is by the shared clock, never later than it really is.
func of(t time.Time) instant {
	at := now()
	return at + instant(time.Until(t))
}

func (i instant) plus(d time.Duration) instant { return i + instant(d) }

func (i instant) sub(other instant) time.Duration { return time.Duration(i - other) }

// span is a stretch of time, both ends included.
type span struct{ from, to instant }

func (s span) meets(o span) bool { return s.from <= o.to && o.from <= s.to }

// shared is how much of s lies in others, which do not overlap each other.
func (s span) shared(others []span) (sum time.Duration) {
	for _, o := range others {
		if s.meets(o) {
			sum += min(s.to, o.to).sub(max(s.from, o.from))
		}
	}
	return sum
}

// touched reports whether s meets any of others.
func (s span) touched(others []span) bool {
	for _, o := range others {
		if s.meets(o) {
			return true
		}
	}
	return false
}
