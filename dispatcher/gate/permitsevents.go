package gate

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// How the holds of a semaphore with leases end and are extended by their holders, or by their ids.

// freeing is a PermitFree by ids. It frees all ids or none: the permits of other engines are freed first; then the holds of this engine that
// have some of the ids end.
type freeing struct {
	ps   *permits
	ours []*Hold // permits change hands (handOn): these holds end, not those that have their permits when the answer comes
	ack  Settler
}

// free takes the ids of this engine's holds out of c. If no others are left, these holds end now. True: nothing is left of c.
func (ps *permits) free(c *Change) (done bool) {
	f := &freeing{ps: ps, ack: c.Ack}
	ids, kept := c.Args.PermitFree().IDs, PermitFreeArgs{}
	for i, number := range c.Numbers {
		switch p := ps.find(number); {
		case p == nil:
			kept.IDs, kept.N = kept.IDs+ids.At(i), kept.N+1
		case !slices.Contains(f.ours, p.h):
			f.ours = append(f.ours, p.h)
		}
	}
	kept.Holds = scripts.PermitHolds(scripts.AppendPermitHold(nil, 0, kept.N, 0))
	c.Args, c.Ack = kept.Args(), f
	if kept.IDs == "" {
		f.Settle(Outcome{})
	}
	return kept.IDs == ""
}

// Settle handles the answer for the permits of other engines. It ends the holds of this engine, and then frees all their permits (invariant: loss-is-final).
// It implements Settler.
func (f *freeing) Settle(out Outcome) bool {
	all := &jointAck{ack: f.ack}
	for _, h := range f.ours {
		if p := f.ps.of(h); out.Why == Granted && p != nil { // else it has ended meanwhile
			h.By.End(Unlocked)
			f.ps.end(p, all)
			all.left++
		}
	}
	if all.left == 0 {
		settle(f.ack, out)
	}
	return true
}

// jointAck is the ack of several changes for one caller, who is answered after the last of them. A change that failed may have left permits
// in Redis, so the answer is a success only if each change was one.
type jointAck struct {
	ack  Settler
	left int     // changes without an answer
	out  Outcome // what the caller is to be told so far
}

// Settle implements Settler.
func (j *jointAck) Settle(out Outcome) bool {
	if j.out.Why == Granted || j.out.Why == Lost && out.Why != Granted { // Lost says of one that nothing is left in Redis
		j.out = out
	}
	if j.left--; j.left == 0 {
		settle(j.ack, j.out)
	}
	return true
}

// Unlock ends a hold that its holder gives back.
func (s *Sequencer) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	s.permits.endDue(now)
	switch p := s.permits.of(h); {
	case p == nil: // it ended while the event was on its way
		settle(ack, Outcome{Why: h.why})
	case s.handOn(now, p):
		settle(ack, Outcome{})
	default:
		s.permits.end(p, p)
		if ack != nil {
			p.add(ack)
			s.permits.ends.put(p, p.Deadline)
		}
	}
	s.advance(now, fx)
}

// handOn makes p, which its holder gives back, that of the first waiter, if it wants just these permits of the same limit (invariant:
// handoff-only-while-fresh). Not handed on are
//   - permits without a limit, and those with ids that the holder was told: any client that knows the ids may free them;
//   - those of a limit that is not the last one here any more: more of them may be held than it allows;
//   - those that the first waiter leaves to others (rests), and all while clients are met that are no engines: they get only a permit that is free.
//
// False: p is to end.
func (s *Sequencer) handOn(now Time, p *permit) bool {
	fits := func(w *Waiter) bool {
		return w != nil && !w.Try && w.Limit == p.limit && w.N == p.n && w.fits(&p.Tenure)
	}
	if p.limit == 0 || p.limit != s.limit || !p.fresh(now, s.cfg) || p.h.told() || s.rests(now) || now < s.othersUntil {
		return false
	}
	q, before := &s.contest.queue, p.h
	for w := q.head; fits(w); w = q.head {
		h, asked := w.begin(now, &p.Tenure, p.Deadline, s.cfg.MaxHold), w.asked
		w.Way = HandedOn
		q.remove(w)
		s.again = s.again || asked && q.head != nil && q.head.N != p.n // the question was for more than the others want
		if s.cfg.Answer(w, Outcome{}) {
			before.alive, p.h = false, h
			s.permits.putEnd(p)
			s.cfg.Stats.Granted.Inc()
			s.cfg.Stats.Handoffs.Inc()
			return true
		}
		h.alive = false
	}
	return false
}

// Extend moves the end of a hold with a fixed lease to now + lease, unless it is later already.
func (s *Sequencer) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	s.permits.endDue(now)
	if p := s.permits.of(h); p != nil { // even if the renewal for an earlier Extend is on its way, or will be repeated
		p.extend = max(p.extend, lease)
		s.permits.due.put(p, now)
		p.add(ack)
	} else {
		settle(ack, Outcome{Why: h.why})
	}
	s.advance(now, fx)
}

// Oldest is when the oldest living hold was granted. The first permits may have been handed on.
func (s *Sequencer) Oldest() Time {
	oldest := Never
	for _, p := range s.permits.held {
		if p.h.alive {
			oldest = min(oldest, p.h.Since())
		}
	}
	return oldest
}

// suspect makes Redis be asked whether all holds are there.
func (ps *permits) suspect(now Time) {
	for _, p := range ps.held {
		if p.h.alive {
			p.Doubt = true
			ps.due.put(p, now)
		}
	}
}
