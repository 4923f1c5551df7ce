package gate

import (
	"cmp"
	"time"
)

// A name may stay taken after its last hold has ended, because it was detached for another caller to adopt, or because a caller asked for a
// least time (Waiter.Least). Then no release is sent: the owner field passes to one that no engine renews (DetachedSuffix), and the key
// runs out by its TTL (invariant: detached-name-stays).

// DetachedSuffix follows the owner field of a lease that was detached: "<uuid>:<number>:detached".
const DetachedSuffix = ":detached"

// stay is how long the name stays taken after the last hold of its lease has ended.
type stay struct {
	until Time          // the end of least times that count already; 0: there is none
	lease time.Duration // the lease of Detach; 0: it is not being detached

	least time.Duration // the longest least time that does not count yet; 0: there is none
	asked Time          // the time of the event that granted it

	by   *Hold // the first hold that had a least time
	more bool  // there were others
}

// addLeast keeps the name taken for least from the grant in this event. The event's time may be long ago, because the loop may have stood
// still after it had read the clock:
//
//  1. The loop reads the clock and is paused for a second.
//  2. Redis grants the lock. The loop goes on with the old reading, and grants the hold.
//  3. The least time, counted from that reading, is over a second too early.
//
// So it counts from the next reading.
func (s *stay) addLeast(now Time, h *Hold, least time.Duration) {
	s.least, s.asked = max(s.least, least), now
	s.by, s.more = cmp.Or(s.by, h), s.by != nil
}

// count makes the least times count from now, if the clock was read after their grants.
func (s *stay) count(now Time) {
	if s.least > 0 && now > s.asked {
		s.until, s.least = max(s.until, now+s.least), 0
	}
}

// alarm is when the clock must be read for least times.
func (s *stay) alarm() Time {
	if s.least == 0 {
		return Never
	}
	return s.asked + time.Millisecond
}
