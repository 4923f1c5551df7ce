// Package reconnect says how long to wait before a broken connection is made again (Pause), and limits what is logged meanwhile
// (Outage). The loop uses both for its links, and a subscriber for its connection.
package reconnect

import (
	"math/rand/v2"
	"time"
)

const (
	// Steady is how long a connection must have lasted to be made again at once when it breaks.
	Steady = time.Second
	// Flaps bounds the pauses, at 160 ms, before a connection is made again that has lasted for less: a server that
	// answers probes and cuts what comes then is not asked at full speed.
	Flaps = 4
)

// Pause is how long to wait before the next try: 10 ms doubling to 1 s, half of it random.
func Pause(tries int) time.Duration {
	full := min(10*time.Millisecond<<min(tries, 10), time.Second)
	return full/2 + time.Duration(rand.Int64N(int64(full/2)))
}

// Tries is how many tries count as made in vain when a connection breaks that has lasted for so long; 0: there was none, perhaps for
// want of a server.
func Tries(before int, lasted time.Duration) int {
	switch {
	case lasted >= Steady:
		return 0
	case lasted > 0:
		return min(before, Flaps)
	}
	return before
}
