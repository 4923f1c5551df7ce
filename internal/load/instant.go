package load

import "time"

// Instant is a moment in nanoseconds, comparable between the processes of one machine: wall time when the
// process started, and monotonic from there on.
type Instant int64

var origin = time.Now()

// Now is this moment. It costs one clock reading.
func Now() Instant { return at(time.Now()) }

func at(t time.Time) Instant { return Instant(origin.UnixNano() + int64(t.Sub(origin))) }

// Sub is the time from u to i.
func (i Instant) Sub(u Instant) time.Duration { return time.Duration(i - u) }
