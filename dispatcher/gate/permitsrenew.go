package gate

import (
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

// mostRenewed is how many holds one call renews: its answer is a sum of powers of 2, and must stay below the codes of faults.
const mostRenewed = 48

// mostProlonged bounds the permits of several holds that one call renews: to some milliseconds of the server's time.
const mostProlonged = 1000

// renewDue is the renewal of the holds that are due, if there are any.
func (ps *permits) renewDue(now Time) (Change, bool) {
	if now < ps.renewAt {
		return Change{}, false
	}
	ps.renewAt = Never
	r := &renewal{ps: ps}
	shortest, holds, sum := Never, []byte(nil), int64(0)
	for _, p := range ps.held {
		if p.Next <= now && len(r.some) < mostRenewed && (sum == 0 || sum+p.n <= mostProlonged) {
			p.Next = Never // until the answer
			one := renewed{p, max(p.extend, p.renewLease())}
			r.some = append(r.some, one)
			sum += p.n
			shortest = min(shortest, p.Lease)
			holds = scripts.AppendPermitHold(holds, p.ID, p.n, one.lease)
		}
		ps.renewAt = min(ps.renewAt, p.Next)
	}
	return Change{Op: PermitRenew, Args: PermitRenewArgs{scripts.PermitHolds(holds)}.Args(), Lease: shortest, Ack: r}, len(r.some) > 0
}

// renewLease is the lease that a renewal of p asks for. For a fixed lease it is the shortest: the renewal only asks whether the permits are
// there.
func (p *permit) renewLease() time.Duration {
	if p.Watch {
		return p.Lease
	}
	return time.Millisecond
}

// Settle handles the answer to a renewal. It implements Settler.
func (r *renewal) Settle(out Outcome) bool {
	ps := r.ps
	pause := ps.renewals.next(ps.cfg.LastID) // the same for all, so that one call renews them together again
	if out.Why == Granted {
		ps.renewals = 0
	}
	for k, p := range r.some {
		switch {
		case ps.held[p.h] != p.permit: // it has ended meanwhile
		case out.Why != Granted: // not known: renewed again until the deadline
			p.Next = ps.now + within(pause, p.Lease)
			if p.ack != nil && out.Why != Down {
				p.settle(out)
				p.extend = 0
			}
			ps.schedule(p.permit)
		case out.N>>k&1 == 0:
			ps.lose(p.permit, Lost) // frees what may be left of its permits
		default:
			ps.confirm(p)
		}
	}
	return true
}

// noteAnswer notes when a call left and came back. It warns the holders of holds that the call was to renew and did not, if their renewal is
// overdue.
func (ps *permits) noteAnswer(now Time, c *Command) {
	ps.endDue(now)
	if c.Op != PermitRenew {
		return
	}
	ps.now, ps.sent = now, c.Sent
	if c.Result == Answered && c.Reply.Fault() == scripts.None {
		return
	}
	for _, p := range ps.held {
		if p.Watch && p.Next == Never && !p.atRisk && ps.now >= p.half() {
			p.atRisk = true
			p.h.warn(ps.cfg.Stats, unprovedOutcome(c))
		}
	}
}

// confirm moves the deadline of a hold that the call has renewed.
func (ps *permits) confirm(p renewed) {
	if p.atRisk {
		p.atRisk = false
		p.h.warn(ps.cfg.Stats, Outcome{})
	}
	p.Deadline = max(p.Deadline, ps.sent+p.lease-margin(p.lease))
	if !p.Watch {
		p.h.until = max(p.h.until, p.Deadline)
	}
	p.h.follow(&p.Tenure)
	if p.Next == Never { // else an extension came after the call was made, or a suspicion: the next call is about that
		p.settle(Outcome{})
		p.extend = 0
		if p.Watch {
			p.Next = ps.sent + p.Lease/3
		}
	}
	ps.schedule(p.permit)
}
