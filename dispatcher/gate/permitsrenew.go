package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// renewal is the holds of one call that renews.
type renewal struct {
	m    *Permits
	some []*permit
}

// mostRenewed is how many holds one call renews: its answer is a sum of powers of 2, below the codes of faults.
const mostRenewed = 48

// left is the renewal of those that are due.
func (m *Permits) left(now Time) (Change, bool) {
	if now < m.renewAt {
		return Change{}, false
	}
	m.renewAt, m.riskAt = Never, Never
	r := &renewal{m: m}
	shortest, holds := Never, []byte(nil)
	for _, p := range m.held {
		if p.RenewAt <= now && len(r.some) < mostRenewed {
			p.RenewAt, m.unanswered = Never, now // until the answer
			r.some = append(r.some, p)
			shortest = min(shortest, p.Lease)
			holds = scripts.AppendPermitHold(holds, p.ID, p.n, max(p.extend, p.renewLease()))
		}
		m.renewAt, m.riskAt = min(m.renewAt, p.RenewAt), min(m.riskAt, m.overdueAt(p))
	}
	return Change{Op: PermitRenew, Args: PermitRenewArgs{scripts.PermitHolds(holds)}.Args(), Lease: shortest, Ack: r}, len(r.some) > 0
}

// renewLease is the lease to renew a hold with: a fixed one is only looked for.
func (p *permit) renewLease() time.Duration {
	if p.Watch {
		return p.Lease
	}
	return time.Millisecond
}

// Settle is the answer to a renewal. It implements Settler.
func (r *renewal) Settle(out Outcome) bool {
	m := r.m
	pause := m.renewals.next(m.cfg.LastID) // the same for all, so that one call asks for them again
	if out.Why == Granted {
		m.renewals = 0
	}
	for k, p := range r.some {
		switch {
		case m.held[p.h] != p: // it ended meanwhile
		case out.Why != Granted: // doubtful; asked for again until its deadline
			p.RenewAt = m.now + within(pause, p.Lease)
			if p.ack != nil && out.Why != Down {
				p.acknowledge(out)
				p.extend = 0
			}
			m.expect(p)
		case out.N>>k&1 == 0:
			m.tell(p, Lost) // and what may be left of its permits is freed
		default:
			m.renewed(p)
		}
	}
	return true
}

// overdueAt is when p is at risk unless the call comes back that is on its way; Never: it was told, or nobody renews it.
func (m *Permits) overdueAt(p *permit) Time {
	switch {
	case !p.Watch || p.atRisk:
		return Never
	case p.RenewAt == Never:
		return p.Tenure.overdueAt(m.unanswered)
	}
	return p.Tenure.overdueAt(max(m.unanswered, p.RenewAt))
}

// warnDue warns the holds that are at risk because a call does not come back.
func (m *Permits) warnDue(now Time) {
	m.riskAt = Never
	if !m.out {
		m.unanswered = now
	}
	for _, p := range m.held {
		if now >= m.overdueAt(p) {
			m.warn(p, Outcome{Why: Doubtful})
		}
		m.riskAt = min(m.riskAt, m.overdueAt(p))
	}
}

// inDanger warns those that c was to renew, which has proved nothing, if half of the time is over that they were given.
func (m *Permits) inDanger(now Time, c *Command) {
	if c.Op != PermitRenew || c.Result == Answered && c.Reply.Fault() == scripts.None {
		return
	}
	m.unanswered = now
	for _, p := range m.held {
		if p.Watch && p.RenewAt == Never && now >= p.half() {
			m.warn(p, unprovedOutcome(c))
		}
	}
}

func (m *Permits) warn(p *permit, why Outcome) {
	if !p.atRisk {
		p.atRisk = true
		p.h.warn(m.cfg.Stats, why)
	}
}

func (m *Permits) renewed(p *permit) {
	if p.atRisk {
		p.atRisk = false
		p.h.safe(m.cfg.Stats)
	}
	p.RenewAt = Never
	lease := p.extend
	if p.Watch {
		lease = max(lease, p.Lease)
		p.RenewAt = m.sent + p.Lease/3
	}
	if lease > 0 {
		p.Deadline, p.Confirmed = max(p.Deadline, m.sent+lease-margin(lease)), m.now
		if !p.Watch {
			p.h.until = max(p.h.until, p.Deadline)
		}
		p.h.follow(&p.Tenure)
	}
	p.acknowledge(Outcome{})
	p.extend = 0
	m.expect(p)
}
