package gate

import "time"

// stay is for how long a name is to stay taken when the last hold of its tenure has ended.
type stay struct {
	until Time          // because of callers' least times; 0: it is not
	lease time.Duration // because it is being detached; 0: it is not

	least time.Duration // the longest of the least times that are not in until yet; 0: there is none
	asked Time          // what the clock showed when they were granted
}

// count has least times count from now, if the clock was read after their grants.
func (s *stay) count(now Time) {
	if s.least > 0 && now > s.asked {
		s.until, s.least = max(s.until, now+s.least), 0
	}
}

// alarm is when the clock is to be read for least times.
func (s *stay) alarm() Time {
	if s.least == 0 {
		return Never
	}
	return s.asked + time.Millisecond
}

// ceilMillis rounds up to the milliseconds in which Redis counts.
func ceilMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
