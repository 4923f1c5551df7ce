package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// permits are the holds of a semaphore with leases: each has permits with ids of their own, for a lease of its own. One call takes permits
// for many waiters from the head of the queue, or frees those of many holds, or renews them (permits.lua).
type permits struct {
	cfg      *Config
	changes  *changes       // of the name: releases join them
	asked    []share        // what the question under way, or the last one, takes
	held     []*permit      // in the order of their ids, which is that of their grants. Some have ended
	ended    int            // so many of held
	due      timed[*permit] // by when a hold is to be renewed
	ends     timed[*permit] // by when a hold ends, or may have to be warned, or its caller of Unlock must be answered
	sent     Time           // when the call left that is being answered
	now      Time
	renewals retries // failures in a row
	cause    Outcome // of the last of them
}

// permit is a hold and its permits in Redis: ids from Tenure.ID on, n of them.
type permit struct {
	Tenure
	ps         *permits
	h          *Hold
	n          int64
	limit      int64         // of the caller that they were taken for; 0: it had none
	extend     time.Duration // the lease that Extend asked for; 0: none
	atRisk     bool          // its holder was warned, and it was not renewed since
	single     bool          // some holds of the call that renewed it are not there: the next call is to say which
	pendingAck               // the callers of Extend; when it has ended, the caller of Unlock
	moments    [2]moment     // in due and in ends
}

// share is what a call takes for one waiter.
type share struct {
	n     int64
	lease time.Duration
}

// The orders of permits, by one of their times.
const (
	byRenewal = iota
	byEnd
)

func (p *permit) moment(by int8) *moment { return &p.moments[by] }

// admitPermits grants the shares that c took to waiters from the head of the queue that want just these. What no waiter wants is freed, and so
// is what an earlier copy of c may have taken and is not in Redis as a whole any more. vain: some were over when the answer came.
func (s *Sequencer) admitPermits(now Time, c *Command) (vain Outcome) {
	id := c.ID
	for i, one := range s.permits.asked {
		served := scripts.Reply(i) < c.Reply
		if !served && !c.Args.Take().Resent {
			break
		}
		p := &permit{Tenure: Tenure{
			ID: id, LeaseTime: one.lease, Deadline: c.Sent + one.lease - margin(one.lease), Confirmed: now, Epoch: c.Epoch,
		}, ps: &s.permits, n: one.n}
		late := now >= p.Deadline // a grant that is read after its own deadline is not passed on
		if !served || late || !s.grantPermits(now, p, c.Sent) {
			s.permits.release(p, nil)
		}
		if served && late {
			vain = overdue(now, c, one.lease)
		}
		id += uint64(one.n)
	}
	return vain
}

// grantPermits makes p the hold of the first waiter if it wants just these permits, or of one behind it if its caller has gone. False: nobody
// wants them.
func (s *Sequencer) grantPermits(now Time, p *permit, sent Time) bool {
	for w := s.contest.queue.head; w != nil && w.N == p.n && w.LeaseTime == p.LeaseTime; w = s.contest.queue.head {
		p.h, p.Watch, p.limit = w.begin(now, &p.Tenure, p.Deadline, s.cfg.MaxHold), w.Watch, w.Limit
		if s.grant(now, w) {
			s.permits.add(p, sent)
			return true
		}
		p.h.alive = false
	}
	return false
}

// add adds a hold that has begun.
func (ps *permits) add(p *permit, sent Time) {
	ps.held = append(ps.held, p)
	ps.cfg.Stats.Held.Inc()
	if p.Watch {
		ps.due.put(p, sent+p.LeaseTime/3)
	}
	ps.putEnd(p)
}

// putEnd has endDue look at p when a third of its lease is left, if the watchdog renews it, and at its end.
func (ps *permits) putEnd(p *permit) {
	at := p.over()
	if p.Watch {
		at = min(at, p.Deadline-p.LeaseTime/3)
	}
	ps.ends.put(p, at)
}

// over is when the hold ends by time.
func (p *permit) over() Time { return min(p.Deadline, p.h.until.at) }

// find returns the living hold that has the permit with this number; nil: none of this engine.
func (ps *permits) find(number uint64) *permit {
	i, found := slices.BinarySearchFunc(ps.held, number, func(p *permit, number uint64) int { return cmp.Compare(p.ID, number) })
	if !found {
		i--
	}
	if i < 0 || number >= ps.held[i].ID+uint64(ps.held[i].n) || !ps.held[i].h.alive {
		return nil
	}
	return ps.held[i]
}

// of returns what h has; nil: it has ended.
func (ps *permits) of(h *Hold) *permit {
	if p := ps.find(h.Tenure); p != nil && p.h == h {
		return p
	}
	return nil
}

// release frees permits that nobody holds any more.
func (ps *permits) release(p *permit, ack Settler) {
	holds := scripts.PermitHolds(scripts.AppendPermitHold(nil, p.ID, p.n, 0))
	ps.changes.add(Change{Op: PermitFree, Args: PermitFreeArgs{Holds: holds, N: p.n}.Args(), Ack: ack})
}

// end ends a hold. Its permits are freed by the next call.
func (ps *permits) end(p *permit, ack Settler) {
	p.h.alive = false
	ps.forget()
	ps.cfg.Stats.Held.Dec()
	if p.atRisk {
		ps.cfg.Stats.AtRisk.Dec()
	}
	p.pendingAck.settle(Outcome{Why: p.h.why})
	ps.due.drop(p)
	ps.ends.drop(p)
	ps.release(p, ack)
}

// forget takes the holds that have ended off the front of held, and out of it when they are more than the others.
func (ps *permits) forget() {
	ended := func(p *permit) bool { return !p.h.alive }
	ps.ended++
	for len(ps.held) > 0 && ended(ps.held[0]) {
		ps.held[0], ps.held, ps.ended = nil, ps.held[1:], ps.ended-1
	}
	if ps.ended > len(ps.held)/2 {
		ps.held, ps.ended = slices.DeleteFunc(ps.held, ended), 0
	}
	if len(ps.held) == 0 {
		ps.held = nil
	}
}

// lose ends a hold that its holder has not given back.
func (ps *permits) lose(p *permit, why Why) {
	ps.cfg.Stats.Lost.Inc()
	p.h.why = why
	p.h.By.End(why) // before its permits are freed (invariant: loss-is-final)
	ps.end(p, nil)
}

// endDue ends the holds with a deadline that has passed. Unlock never blocks past it.
func (ps *permits) endDue(now Time) {
	for ps.ends.next() <= now {
		switch p := ps.ends.all[0]; {
		case !p.h.alive:
			p.Settle(Outcome{Why: Doubtful})
		case now < p.over(): // a third of its lease is left
			ps.ends.put(p, p.over())
			if p.moments[byRenewal].in != 0 { // else noteAnswer sees what comes of the renewal
				ps.warnOverdue(p, now)
			}
		case now >= p.Deadline || !p.h.watch:
			ps.lose(p, Lost)
		default:
			ps.lose(p, TooLong)
		}
	}
}

// Settle answers the caller of Unlock, unless it was answered at the deadline. It implements Settler.
func (p *permit) Settle(out Outcome) bool {
	p.ps.ends.drop(p)
	p.pendingAck.settle(out)
	return true
}
