package gate

// A name may stay taken after its last hold has ended, because it was detached for somebody who adopts it, or because a
// caller asked for a least time (Waiter.Least). Then no release is sent: the owner field passes to one that no engine renews
// (DetachedSuffix), and the key runs out by its TTL (invariant: detached-name-stays).

// DetachedSuffix follows the owner field of a tenure whose name was detached: "<uuid>:<number>:detached".
const DetachedSuffix = ":detached"

// detach sends, in place of the release, the command by which the name stays taken. False: it is to be freed.
func (m *mutexLease) detach(now Time, fx *Effects) bool {
	lease := m.contention.stayFor(now)
	if lease <= 0 {
		return false
	}
	m.send(Detach, m.t.ID, lease, fx)
	return true
}
