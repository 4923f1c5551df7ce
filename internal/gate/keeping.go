package gate

import "time"

// askAgain has whoever waits ask, unless the lock is ours.
func (m *mutexLease) askAgain() { m.again = m.t.phase != ours && m.queue.head != nil }

// heard is a hint that the lock was freed. While we hold it, it is a hint that we do not.
func (m *mutexLease) heard(now Time) {
	if m.t.phase == ours {
		m.contention.found(now, false)
		m.suspectAt(now, m.contention.heedAt)
	} else {
		m.hinted(now)
	}
}

// suspectAt has Redis asked at that time at the latest.
func (m *mutexLease) suspectAt(now, at Time) {
	m.t.suspected = m.flight != None
	m.t.suspect(max(now, at))
}

// reconnected has the tenure verified, or the waiters ask again.
func (m *mutexLease) reconnected(now Time) {
	if l := m.queue.fair; l != nil {
		l.hurry()
	}
	if m.t.phase == ours {
		m.suspectAt(now, now)
	} else {
		m.askAgain()
	}
}

// renew sends the renewal that is due: the watchdog's, one that somebody waits for, or one that only looks whether the lease is
// there.
func (m *mutexLease) renew(now Time, fx *Effects) bool {
	lease, growing := m.growing().lease()
	switch {
	case growing && (!m.t.Doubt || now >= m.t.RenewAt):
		if m.t.Watch { // it is a renewal besides
			lease = max(lease, m.t.Lease)
		}
	case m.t.Watch && now >= m.t.RenewAt:
		lease = m.t.Lease
	case !m.t.Watch && m.t.Doubt && now >= m.t.RenewAt:
		lease = time.Millisecond // a script never lowers a TTL
	default:
		return false
	}
	m.send(Renew, m.t.ID, lease, fx)
	return true
}
