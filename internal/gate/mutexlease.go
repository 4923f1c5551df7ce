package gate

import "time"

// mutexLease is the one lease of a mutex in Redis: it is asked for (asking.go), kept (keeping.go) and given back (ending.go), in
// the order of arrival here or in that of a queue in Redis (fair.go). Who holds under it is decided above, by Mutex.
type mutexLease struct {
	lock
	t ownership
}

// send sends the one command of the name. The caller may fill in more, at once.
func (m *mutexLease) send(op Op, id uint64, lease time.Duration, fx *Effects) *Command {
	m.again, m.t.suspected = false, false
	return m.lock.send(op, id, lease, fx)
}

// ttl is what the local hold's lease has left.
func (m *mutexLease) ttl(now Time) time.Duration {
	if m.t.phase == ours {
		return max(m.t.Deadline-now, 0)
	}
	if m.contention != nil {
		return timeLeft(now, m.contention.theirs.ends)
	}
	return 0
}

// lastOutcome is what is known of the name, as the answer to a waiter that gives up.
func (m *mutexLease) lastOutcome(now Time) Outcome {
	if m.t.holds != nil {
		return Outcome{Last: Taken, TTL: m.ttl(now)}
	}
	return m.waiting.lastOutcome(now)
}

// Oldest is when the oldest living hold was granted.
func (m *mutexLease) Oldest() Time {
	return m.t.oldest()
}

// fence gives the tenure its block: the numbers that end at last.
func (m *mutexLease) fence(last int64) {
	if m.traits().fenced {
		m.contended().tokens = tokens{last - TokenBlock + 1, last}
	}
}

// fenced reports whether the tenure may be handed to w as far as tokens go. A swap has none to give.
func (m *mutexLease) fenced(w *Waiter) bool {
	return !m.traits().fenced || m.contention.tokens.left() && w.fits(&m.t.Tenure)
}

// growing is what waits for a renewal with a longer lease; nil: nothing does.
func (m *mutexLease) growing() *growths {
	if m.contention == nil || len(m.contention.growing) == 0 {
		return nil
	}
	return &m.contention.growing
}

// forget takes out a waiter, also one that waits for a renewal or for the place of another owner.
func (m *mutexLease) forget(w *Waiter) bool {
	return m.waiting.forget(w) || m.growing().forget(w) || m.contention != nil && m.contention.adopting.forget(w)
}

// requeue has a re-entry whose Owner holds nothing any more wait like anybody.
func (m *mutexLease) requeue(now Time, w *Waiter) {
	if w.Try && (m.t.holds != nil || m.queue.lasting() > 0) {
		m.cfg.Answer(w, Outcome{Why: Taken, TTL: m.ttl(now)})
		return
	}
	m.ownWaitState().queue.push(w)
}

func (m *mutexLease) turnAllAway() {
	m.waiting.turnAllAway()
	m.growing().turnAway(m.cfg, Outcome{Why: Closed}, everyone)
	m.contention.turnAdoptersAway(m.cfg, Closed)
}
