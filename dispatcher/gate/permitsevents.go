package gate

import (
	"slices"
	"time"
)

// How the holds of a semaphore with leases end and are extended by their holders, or by their ids.

// freeing is a PermitFree by ids. It frees all ids or none: the permits of other engines are freed first; then the holds of this engine that
// have some of the ids end.
type freeing struct {
	ps   *permits
	ours []*permit
	ack  Settler
}

// free takes the ids of this engine's holds out of c. If no others are left, these holds end now. True: nothing is left of c.
func (ps *permits) free(c *Change) (done bool) {
	f := &freeing{ps: ps, ack: c.Ack}
	ids, kept := c.Args.PermitFree().IDs, PermitFreeArgs{}
	for i, number := range c.Numbers {
		switch p := ps.holder(number); {
		case p == nil:
			kept.IDs += ids.At(i)
			kept.N++
		case !slices.Contains(f.ours, p):
			f.ours = append(f.ours, p)
		}
	}
	c.Args, c.Ack = kept.Args(), f
	if kept.N == 0 {
		f.Settle(Outcome{})
	}
	return kept.N == 0
}

// Settle handles the answer for the permits of other engines. It ends the holds of this engine, and then frees all their permits (invariant: loss-is-final).
// It implements Settler.
func (f *freeing) Settle(out Outcome) bool {
	ps, all := f.ps, &jointAck{ack: f.ack}
	for _, p := range f.ours {
		if out.Why == Granted && ps.held[p.h] == p { // else it has ended meanwhile
			p.h.By.End(Unlocked)
			ps.end(p, all)
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

// holder is the hold that has the permit with this number; nil: none of this engine.
func (ps *permits) holder(number uint64) *permit {
	if number == 0 {
		return nil
	}
	for _, p := range ps.held {
		if number >= p.ID && number < p.ID+uint64(p.n) {
			return p
		}
	}
	return nil
}

// Unlock ends a hold that its holder gives back.
func (s *Sequencer) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	s.permits.endDue(now)
	if p := s.permits.held[h]; p != nil {
		s.permits.end(p, &pendingUnlock{ack: ack, until: p.Deadline})
	} else {
		settle(ack, Outcome{Why: Lost})
	}
	s.advance(now, fx)
}

// Extend moves the end of a hold with a fixed lease to now + lease, unless it is later already.
func (s *Sequencer) Extend(now Time, h *Hold, lease time.Duration, ack Settler, fx *Effects) {
	s.permits.endDue(now)
	if p := s.permits.held[h]; p != nil { // even if the renewal for an earlier Extend is on its way, or will be repeated
		p.extend, p.Next, s.permits.renewAt = max(p.extend, lease), now, now
		p.add(ack)
	} else {
		settle(ack, Outcome{Why: Lost})
	}
	s.advance(now, fx)
}

// Oldest is when the oldest living hold was granted.
func (s *Sequencer) Oldest() Time {
	oldest := Never
	for h := range s.permits.held {
		oldest = min(oldest, h.Since())
	}
	return oldest
}

// suspect makes Redis be asked whether all holds are there.
func (ps *permits) suspect(now Time) {
	for _, p := range ps.held {
		p.Next, ps.renewAt = now, now
	}
}
