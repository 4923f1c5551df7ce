package gate

import "time"

// A name may stay taken after its last hold has ended, because it was detached for somebody who adopts it, or because a
// caller asked for a least time (Waiter.Least). Then no release is sent: the owner field passes to one that no engine renews
// (DetachedSuffix), and the key runs out by its TTL (invariant: detached-name-stays).

// DetachedSuffix follows the owner field of a tenure whose name was detached: "<uuid>:<number>:detached".
const DetachedSuffix = ":detached"

// stays has the name stay taken for least from the grant on, which is in this event. The event's time may be long ago, for the
// loop may have stood still after it had read the clock:
//
//  1. The loop reads the clock and is paused for a second.
//  2. Redis grants the lock. The loop goes on, with the old reading, and hands it out.
//  3. The least time, counted from that reading, is over a second too early.
//
// So it counts from the next reading.
func (m *mutexLease) stays(now Time, least time.Duration) {
	s := &m.contended().stay
	s.least, s.asked = max(s.least, least), now
}

// stayNoLonger has the name freed at once.
func (m *mutexLease) stayNoLonger() {
	if m.contention != nil {
		m.contention.stay = stay{}
	}
}

// stayFor is for how long the name is to stay taken from now on.
func (m *mutexLease) stayFor(now Time) time.Duration {
	if m.contention == nil {
		return 0
	}
	s := &m.contention.stay
	return max(s.lease, s.least, ceilMillis(s.until-now))
}

// detach sends, in place of the release, the command by which the name stays taken. False: it is to be freed.
func (m *mutexLease) detach(now Time, fx *Effects) bool {
	lease := m.stayFor(now)
	if lease <= 0 {
		return false
	}
	m.send(Detach, m.t.ID, lease, fx)
	return true
}
