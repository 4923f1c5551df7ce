package gate

import "time"

// Ask is a caller that wants in.
func (m *Mutex) Ask(now Time, w *Waiter, fx *Effects) {
	m.tick(now)
	switch {
	case w.Adopts != "":
		c := m.contended()
		c.adopting = append(c.adopting, w)
	case w.Owner != 0 && m.reenter(now, w):
	case w.Try && (m.t.holds != nil || m.queue.lasting() > 0): // rule 10: TryLock never takes a handoff
		m.cfg.Answer(w, Outcome{Why: Taken, TTL: m.ttl(now)})
	default:
		if w.Try || m.t.phase == free && m.queue.lasting() == 0 && !m.contention.pausing() { // no TryLock keeps a pause
			m.hurry(now)
		}
		m.ownWaitState().queue.push(w)
	}
	m.pump(now, fx)
}

// Answer is the command in flight coming back.
func (m *Mutex) Answer(now Time, c *Command, fx *Effects) {
	m.returned(c)
	m.t.prolonged(now, c)
	m.tick(now)
	switch k := m.traits(); {
	case k.releases(c.Op) && (c.Args.Release().Owner != "" || c.ID != m.t.ID || m.t.phase != dead):
		c.given()
		m.heardBy(c)
		m.contended().orphans.answered(now, c)
	case c.Op == Adopt:
		m.adopted(now, c)
	case c.Op == CountWaiters:
		m.countedWaiters(c)
	case k.releases(c.Op) || c.Op == Detach:
		if m.released(now, c, fx) {
			m.admit(now, c, fx)
		}
	case k.acquires(c.Op):
		if m.acquired(now, c, fx) {
			m.admit(now, c, fx)
		}
	case c.Op == FairLeave:
		m.queue.fair.given(now, c)
	case m.t.phase != ours || c.ID != m.t.ID: // it ended while the command was on its way
	case c.Op == Renew:
		m.renewed(now, c)
	default:
		m.confirmed(now, c, fx)
	}
	if m.t.suspected {
		m.suspectAt(now, m.heedAt())
	}
	m.pump(now, fx)
}

// Message is a hint that the lock was freed, or says that it was given to our claim.
func (m *Mutex) Message(now Time, news News, fx *Effects) {
	given := m.given(now, news, fx)
	news.N -= news.ones
	if given {
		news.N--
	}
	m.lock.Message(now, news, fx)
	if given || m.again { // also if it was taken for our own message
		m.pump(now, fx)
	}
}

// given takes the lock that a release has given to our claim, if one of the codes says so. When it cannot be taken here, a question
// finds it, which is asked at once: a fenced one needs its tokens, and what was claimed over another link is not believed.
func (m *Mutex) given(now Time, news News, fx *Effects) bool {
	if !m.claims() || !m.contention.claim.heard(&news) {
		return false
	}
	m.tick(now)
	c := &m.contention.claim
	w := m.queue.head
	if m.traits().fenced || m.t.phase != free || m.flight != None || c.epoch != m.cfg.Epoch || w == nil || !w.mayClaim() ||
		!m.queue.fair.first(w, c.id) || now >= c.sent+claimTime-margin(claimTime) {
		m.again = m.t.phase != ours && w != nil
		return false
	}
	as := Command{Op: AcquireClaim, ID: c.id, Lease: claimTime, Sent: c.sent, Epoch: c.epoch}
	m.t.ask(c.id, w.Lease, w.Watch)
	m.t.phase = ours
	m.t.Ends = c.ends
	m.queue.fair.doubt(now, &m.t.Tenure)
	m.t.confirm(now, &as, claimTime, m.cfg.Stats)
	m.t.RenewAt = now + min(claimRenewal, (m.t.Deadline-now)/4)
	m.contention.endClaim(c.id)
	m.tries, m.again = 0, false
	m.settleYield(false, now) // somebody had it
	m.contention.enter(now, m.cfg)
	m.contention.last = m.contention.last.noted(Outcome{Why: Taken})
	as.Lease = m.t.Deadline - now // what is left of it
	m.admit(now, &as, fx)
	return true
}

// Unlock ends a hold.
func (m *Mutex) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	m.tick(now)
	if !h.alive { // it ended while this was on its way
		settle(ack, Outcome{Why: h.why})
	} else if m.t.end(h, m.cfg.Stats); m.t.holds != nil {
		settle(ack, Outcome{})
	} else {
		if ack == InVain && h.holdCount == nil { // an Owner's other holds may have had least times
			m.contention.stayNoLonger()
		}
		m.owe(ack)
		m.decide(now, fx)
		if m.t.phase != dead { // handed on, or about to be
			m.acknowledge(Outcome{})
		}
	}
	m.pump(now, fx)
}

// Detach ends a hold and leaves the name to the owner field that DetachedSuffix makes of its tenure's, for lease from when Redis
// has the command. Not while other holds of its Owner live: then the answer is Taken.
func (m *Mutex) Detach(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	m.tick(now)
	if !h.alive { // it ended while this was on its way
		settle(ack, Outcome{Why: h.why})
	} else if m.t.end(h, m.cfg.Stats); m.t.holds != nil {
		settle(ack, Outcome{Why: Taken})
	} else {
		m.contended().stay.lease = lease
		m.drop(now, ack)
	}
	m.pump(now, fx)
}

// Extend prolongs a hold with a fixed lease to now + lease; never shorter.
func (m *Mutex) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	m.tick(now)
	switch until := now + lease - margin(lease); {
	case !h.alive:
		settle(ack, Outcome{Why: h.why})
	case until <= m.t.Deadline:
		h.prolong(until, &m.t.Tenure)
		settle(ack, Outcome{})
	default:
		m.contended().growing.add(growth{h: h, lease: lease, since: now, ack: ack})
	}
	m.pump(now, fx)
}

// Subscribed is the subscription of the name, or one of a waiter in the queue of a fair lock.
func (m *Mutex) Subscribed(now Time, refusal string, fx *Effects) {
	if m.queue.fair == nil {
		m.waiting.Subscribed(now, refusal, fx)
		return
	}
	m.queue.fair.subscribedInQueue(&m.mutexLease, now, refusal)
	m.pump(now, fx)
}

// pump moves the name on and lets go of what it needs no more. Every event ends with it.
func (m *Mutex) pump(now Time, fx *Effects) {
	m.advance(now, fx)
	m.thin(now)
	if m.waitState != &noWaiters {
		m.returnWaitState()
	}
}

// advance sends the next command of the name, if one is due and none is in flight.
func (m *Mutex) advance(now Time, fx *Effects) {
	if l := m.queue.fair; l != nil {
		l.unsubscribe(&m.Entry, m.cfg, fx)
	}
	if m.t.phase == ours && m.t.holds == nil {
		m.decide(now, fx)
	}
	m.seeWaiters(m.queue.lasting() > 0)
	m.giveUpClaim(now)
	if m.t.phase == ours && m.contention != nil && len(m.contention.adopting) > 0 {
		m.makeWay(now)
	}
	if m.flight != None {
		return
	}
	if m.t.phase == asked && (now >= m.askAt || m.again) {
		m.reask(now, fx)
	}
	if m.t.phase == dead {
		m.free(now, fx)
	}
	switch m.t.phase {
	case free:
		if !m.adopt(fx) {
			m.askFree(now, fx)
		}
	case ours:
		if !m.renew(now, fx) && !m.releaseOrphan(now, fx) && !m.queue.fair.stayInQueue(&m.mutexLease, now, fx) && !m.countWaiters(now, fx) {
			m.confirmAhead(now, fx)
		}
	}
}

// giveUpClaim has a claim removed that nobody wants any more.
func (m *Mutex) giveUpClaim(now Time) {
	if !m.claims() || m.contention.claim.id == 0 || m.t.phase != free || m.queue.lasting() > 0 {
		return
	}
	c := &m.contention.claim
	if now < c.ends && m.queue.fair == nil { // a place that is given up takes its claim along
		m.contention.orphans.add(orphan{id: c.id, op: ReleaseClaim, at: now, ends: c.ends})
	}
	c.id = 0
}

// NextAlarm is the first instant at which time alone changes something.
func (m *Mutex) NextAlarm() Time {
	at := Never
	if m.t.phase == ours {
		at = m.t.nextEnd()
	}
	if m.ack != nil && m.t.phase == dead {
		at = min(at, m.t.Deadline)
	}
	if m.contention != nil {
		at = min(at, m.contention.nextAlarm(m.flight == None && m.t.phase != asked && m.t.phase != dead))
	}
	if m.flight != None {
		return at
	}
	at = min(at, m.queue.fair.fairAlarm(&m.mutexLease))
	switch m.t.phase {
	case ours:
		if m.t.Watch || m.t.Doubt {
			at = min(at, m.t.RenewAt)
		}
		at = min(at, m.lookAlarm())
		if m.contention != nil {
			at = min(at, m.contention.stay.alarm())
		}
	case free:
		if m.queue.head != nil {
			at = min(at, m.askTime())
		}
	case asked:
		at = min(at, m.askAt)
	case dead:
		at = min(at, m.askAt, m.t.Ends)
	}
	return at
}

// Idle reports whether the entry can be forgotten.
func (m *Mutex) Idle() bool {
	return m.t.phase == free && m.flight == None && m.queue.head == nil && (m.contention == nil || m.contention.idle()) &&
		m.queue.fair.idle()
}
