package explore

import (
	"strconv"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// counts is what a semaphore or a latch was given and has given, as their users were told.
type counts struct {
	taken   int64 // permits that callers were granted
	given   int64 // changes that were answered with success
	unsure  int64 // changes whose answer was lost: each may have happened or not
	missing int64 // permits of those who were told that nobody knows whether they have them
	asked   int64 // changes that were asked for
	nobodys bool  // a receipt ran out: permits that were taken may be nobody's
	unknown bool  // data was destroyed, or an engine crashed: nothing is counted any more
}

// doubt is a call that may have run, though its answer was lost.
type doubt struct {
	id    uint64 // 0: there is none
	since gate.Time
}

// receiptTime is for how long an engine asks what became of a call without owner: its receipt stands for little longer
// (counting.lua). What a call did whose answer did not come in that time is known to nobody.
const receiptTime = gate.Time(50 * time.Second)

// begin sets up what stands in Redis when the world begins.
func (s *state) begin() {
	if s.w.Count == 0 {
		return
	}
	for name := range s.w.Names {
		s.do("SET", nameOf(name), strconv.FormatInt(s.w.Count, 10))
	}
}

func (n *counts) granted(s *state, c *caller) {
	switch s.w.Kind {
	case gate.SemaphoreKind:
		n.taken += c.kept.n
		if most := s.w.Count + n.asked; n.taken > most && !n.unknown {
			s.violate("no-permit-from-nothing", "%d permits were taken of %d", n.taken, most)
		}
	case gate.LatchKind:
		if s.w.Count > n.asked && !n.unknown {
			s.violate("latch-opens-at-zero", "%v passed after %d of %d counts", c, n.asked, s.w.Count)
		}
	}
}

func (n *counts) acknowledged(s *state, a *ack) {
	if a.by.call == Release && a.out.Why == gate.Granted {
		n.released(s, a.by)
	}
	if a.by.call != Give && a.by.call != CountDown {
		return
	}
	switch a.out.Why {
	case gate.Granted:
		n.given++
	case gate.Doubtful:
		n.unsure++
	}
}

// released: who was told that permits were freed finds none of them. Holds of the same engine that ended otherwise meanwhile are
// freed for themselves.
func (n *counts) released(s *state, by *caller) {
	if s.destroyed { // a release that a failover has lost
		return
	}
	for _, held := range by.frees {
		if held.e == by.e && (held.unlocked || by.e.closing || by.e.now() >= held.hold.Deadline()) {
			continue
		}
		for i := range uint64(held.kept.n) {
			if v := s.do("ZSCORE", scripts.PermitsKey(nameOf(held.name)), string(scripts.PermitID(held.e.uuid, held.hold.Tenure+i))); v.Str != "" {
				s.violate("permits-are-kept", "%v freed permit %d of %v, which is still in Redis", by, i, held)
			}
		}
	}
}

// hears notes which call of an engine is in doubt. now is the engine's time.
func (n *counts) hears(e *engine, now gate.Time, c *gate.Command) {
	if c.Op != gate.Take && c.Op != gate.Give {
		return
	}
	d := &e.doubt
	n.nobodys = n.nobodys || d.over(now)
	_, late := c.Reply.Late()
	switch {
	case c.Result == gate.Unknown && d.id != c.ID:
		*d = doubt{c.ID, c.Sent}
	case c.Result == gate.Answered && !late && c.Reply.Fault() == scripts.None:
		*d = doubt{}
	}
}

// over reports whether an engine asks no more what became of it.
func (d *doubt) over(now gate.Time) bool { return d.id != 0 && now >= d.since+receiptTime }

// check: the permits of valid holds are not more than there are.
func (n *counts) check(s *state) {
	if s.w.Kind != gate.PermitKind {
		return
	}
	held := int64(0)
	for _, c := range s.callers {
		if c.holds() && !c.isLossy() && !c.e.crashed {
			held += c.kept.n
		}
	}
	if held > s.w.Count {
		s.violate("no-permit-from-nothing", "%d permits are held of %d", held, s.w.Count)
	}
}

// checkRecovered: when all has come to rest, Redis has what users were told.
func (n *counts) checkRecovered(s *state) {
	for _, e := range s.engines {
		n.nobodys = n.nobodys || e.doubt.over(e.now())
	}
	if n.unknown || s.w.Count == 0 {
		return
	}
	v := s.do("GET", nameOf(0))
	left, _ := strconv.ParseInt(v.Str, 10, 64)
	switch s.w.Kind {
	case gate.SemaphoreKind:
		if least, most := s.w.Count+n.given-n.taken-n.missing, s.w.Count+n.given+n.unsure-n.taken; left < least && !n.nobodys || left > most {
			s.violate("permits-are-kept", "%d permits are left, from %d to %d should be", left, least, most)
		}
	case gate.LatchKind:
		if most, least := max(s.w.Count-n.given, 0), max(s.w.Count-n.given-n.unsure, 0); left < least || left > most {
			s.violate("counts-are-kept", "the count is %d, from %d to %d it should be", left, least, most)
		}
	case gate.PermitKind: // whose leases have run out
		if free := left + s.expired(); free > s.w.Count || free < s.w.Count && !s.w.limits() {
			s.violate("permits-are-kept", "%d permits are free, all %d should be", free, s.w.Count)
		}
	}
}

// expired is how many held permits have run out: they are free, and whoever asks next takes them back.
func (s *state) expired() int64 {
	v := s.do("ZCOUNT", scripts.PermitsKey(nameOf(0)), "-inf", strconv.FormatInt(s.serverMicros()/1000, 10))
	return v.Int
}
