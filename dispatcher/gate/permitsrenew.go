package gate

import (
	"cmp"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// renewal is the holds that one call renews.
type renewal struct {
	ps   *permits
	some []renewed
}

// renewed is a hold with the lease that a call asks for.
type renewed struct {
	*permit
	lease time.Duration
}

// What one call renews or frees at most, or takes: permits, which take some milliseconds of the server's time. One hold has no more. The answer about
// mostHolds is a sum of powers of 2, which must stay below the codes of faults; about more of them it is 1 if all are there, and else 0.
const (
	mostHolds   = 48
	mostPermits = 1000
)

// renewDue is the renewal of the holds that are due, if there are any.
func (ps *permits) renewDue(now Time) (Change, bool) {
	if now < ps.due.next() {
		return Change{}, false
	}
	r := &renewal{ps: ps}
	shortest, holds, sum, most := Never, []byte(nil), int64(0), mostPermits
	if ps.due.all[0].single {
		most = mostHolds
	}
	for now >= ps.due.next() && len(r.some) < most {
		p := ps.due.all[0]
		if sum += p.n; sum > mostPermits && len(r.some) > 0 {
			break
		}
		ps.due.drop(p)                                     // until the answer
		one := renewed{p, max(p.extend, time.Millisecond)} // of a fixed lease it only asks whether the permits are there
		if p.Watch {
			one.lease = max(p.extend, p.LeaseTime)
			p.h.notifyRenewal()
		}
		r.some = append(r.some, one)
		shortest = min(shortest, p.LeaseTime)
		holds = scripts.AppendPermitHold(holds, p.ID, p.n, one.lease)
	}
	return Change{Op: PermitRenew, Args: PermitRenewArgs{scripts.PermitHolds(holds)}.Args(), LeaseTime: shortest, Ack: r}, true
}

// Settle handles the answer to a renewal. It implements Settler.
func (r *renewal) Settle(out Outcome) bool {
	ps := r.ps
	pause := ps.renewals.next(ps.cfg.LastID) // the same for all, so that one call renews them together again
	if out.Why == Granted {
		ps.renewals, ps.cause = 0, Outcome{}
	}
	together := len(r.some) > mostHolds
	for k, p := range r.some {
		switch {
		case !p.h.alive: // it has ended meanwhile
		case out.Why != Granted: // not known: renewed again until the deadline (growth.go)
			ps.due.put(p.permit, ps.now+p.pauseWithin(pause, ps.now))
		case together && out.N == 0: // some are not there: Redis is asked at once which
			p.single, p.Doubt = true, true
			ps.due.put(p.permit, 0)
		case !together && out.N>>k&1 == 0:
			ps.lose(p.permit, Lost) // frees what may be left of its permits
		default:
			ps.confirm(p)
		}
	}
	return true
}

// noteAnswer notes when a call left and came back. Holds that the call was to renew and did not are doubtful. It warns their holders if their
// renewal is overdue.
func (ps *permits) noteAnswer(now Time, c *Command) {
	ps.endDue(now)
	if c.Op != PermitRenew {
		return
	}
	ps.now, ps.sent = now, c.Sent
	if c.Result == Answered && c.Reply.Fault() == scripts.None {
		return
	}
	ps.cause = unprovedOutcome(c)
	for _, p := range ps.changes.first().Ack.(*renewal).some {
		p.Doubt = true
		if p.h.alive && p.moments[byRenewal].in == 0 {
			ps.warnOverdue(p.permit, now)
		}
	}
}

// warnOverdue warns the holder of p once if half of its lease is over. A renewal that has not left may stand behind other calls of the name.
func (ps *permits) warnOverdue(p *permit, now Time) {
	if p.Watch && !p.atRisk && now >= p.half() {
		p.atRisk, p.Doubt = true, true
		ps.ends.put(p, p.over()) // it is not looked at again before
		p.h.warn(ps.cfg.Stats, cmp.Or(ps.cause, Outcome{Why: Down, ServerMessage: "the renewal waits behind other calls"}))
	}
}

// late reports whether the renewal that is due first should have left a twelfth of its lease ago.
func (ps *permits) late(now Time) bool {
	return len(ps.due.all) > 0 && now >= ps.due.next()+ps.due.all[0].LeaseTime/12
}

// confirm moves the deadline of a hold that the call has renewed.
func (ps *permits) confirm(p renewed) {
	if p.atRisk {
		p.atRisk = false
		p.h.warn(ps.cfg.Stats, Outcome{})
	}
	p.Deadline = max(p.Deadline, ps.sent+p.lease-margin(p.lease))
	if !p.Watch {
		p.h.until.at = max(p.h.until.at, p.Deadline)
	}
	p.h.follow(&p.Tenure)
	p.single = false
	ps.putEnd(p.permit)
	if p.moments[byRenewal].in == 0 { // else an extension came after the call was made, or a suspicion: the next call is about that
		p.pendingAck.settle(Outcome{})
		p.extend = 0
		if p.Watch {
			ps.due.put(p.permit, ps.sent+p.LeaseTime/3)
		}
	}
}
