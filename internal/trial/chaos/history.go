package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// hold is a call and what became of it. Times that did not come are 0, but for the end.
type hold struct {
	client *process
	call   uint32
	place  *place
	way    way
	owner  string // of those who may hold it together
	n      int
	write  bool
	bound  instant // when the call should have been answered; 0: no bound

	calledAt   instant
	grantedAt  instant // 0: it was not
	deniedAt   instant // 0: it was not
	denied     classes
	text       string
	token      int64
	deadline   instant // the latest one known
	endedAt    instant // when it told its end
	endedBy    classes
	unlockAt   instant
	unlockedAt instant
	unlocked   classes
	unlockText string
	extended   classes
	cut        instant // when a strike may have destroyed what it stands on in Redis; 0: never
}

// history is what a phase saw.
type history struct {
	phase      *phase
	calls      []*hold // by the time they were called
	stalls     map[*process][]span
	violations []violation
	quiet      time.Duration // from the last call until Redis was empty
	figures    figures
}

// violation is something that must not be.
type violation struct {
	Oracle, Text string
}

// mostViolations of one oracle are told.
const mostViolations = 5

func (h *history) fail(oracle, format string, args ...any) {
	told := 0
	for _, v := range h.violations {
		if v.Oracle == oracle {
			told++
		}
	}
	if told < mostViolations {
		h.violations = append(h.violations, violation{oracle, fmt.Sprintf(format, args...)})
	}
}

// read makes calls of the records.
func (h *history) read(ph *phase) {
	h.hearAll(ph)
	slices.SortFunc(h.calls, func(a, b *hold) int { return cmp.Compare(a.calledAt, b.calledAt) })
	h.cuts()
}

// hearAll takes in what the clients have said so far, in no order.
func (h *history) hearAll(ph *phase) {
	h.stalls = make(map[*process][]span)
	for _, p := range append(slices.Clone(ph.gone), ph.clients...) {
		h.hear(ph, p)
	}
}

// hear takes in what a client said.
func (h *history) hear(ph *phase, p *process) {
	calls := make(map[uint32]*hold)
	for _, r := range p.said() {
		switch r.What {
		case called:
			c := h.call(ph, p, r)
			calls[r.Call] = c
			h.calls = append(h.calls, c)
		case stalled:
			h.stalls[p] = append(h.stalls[p], span{r.At, r.Until})
		case rested:
			if r.N > 0 {
				h.fail("quiet", "client %d believes in %d holds and waiters after everybody has left", p.Number, r.N)
			}
		default:
			calls[r.Call].note(r)
		}
	}
	if err := p.unreadable(); err != nil && !p.wasKilled() {
		h.fail("quiet", "client %d: %v", p.Number, err)
	}
}

func (h *history) call(ph *phase, p *process, r record) *hold {
	c := &hold{client: p, call: r.Call, place: &ph.places[r.Place], way: r.Way, n: int(r.N), write: r.Write,
		bound: r.Until, calledAt: r.At}
	if r.Owner != 0 {
		c.owner = fmt.Sprintf("%d/%d", p.Number, r.Owner)
	} else {
		c.owner = fmt.Sprintf("%d:%d", p.Number, r.Call)
	}
	return c
}

// note takes in what a record says of a call.
func (c *hold) note(r record) {
	switch r.What {
	case granted:
		c.grantedAt, c.token, c.deadline = r.At, r.Token, r.Until
	case denied:
		c.deniedAt, c.denied, c.text = r.At, r.Classes, r.Text
	case alive:
		c.deadline = max(c.deadline, r.Until)
	case ended:
		c.endedAt, c.endedBy = r.At, r.Classes
	case unlocking:
		c.unlockAt = r.At
		if c.endedAt == 0 {
			c.deadline = max(c.deadline, r.Until)
		}
	case unlocked:
		c.unlockedAt, c.unlocked, c.unlockText = r.At, r.Classes, r.Text
	case extended:
		c.extended, c.unlockText, c.deadline = r.Classes, r.Text, max(c.deadline, r.Until)
	}
}

// answeredAt is when the caller heard of it; 0: never.
func (c *hold) answeredAt() instant { return max(c.grantedAt, c.deniedAt) }

// surelyUntil is when the holder stops to believe in the hold: until then nobody else may believe to have it.
// Data that was destroyed in Redis ends what it had granted before.
func (c *hold) surelyUntil() instant {
	until := c.deadline
	if c.unlockAt != 0 {
		until = min(until, c.unlockAt)
	}
	if c.endedAt != 0 {
		until = min(until, c.endedAt)
	}
	if c.place.Kind == semaphores && c.unlockAt != 0 {
		until = c.unlockAt
	}
	if c.cut != 0 {
		until = min(until, c.cut)
	}
	return until
}

// lost reports whether the hold ended otherwise than by its holder's wish.
func (c *hold) lost() bool {
	return c.endedAt != 0 && c.endedBy&isLost != 0 || c.unlocked&isLost != 0
}

// name is how violations tell of it.
func (c *hold) name() string {
	return fmt.Sprintf("client %d call %d on %s (called %d, granted %d, deadline %d, unlock %d)", c.client.Number, c.call, c.place.Name,
		c.calledAt, c.grantedAt, c.deadline, c.unlockAt)
}

// blows are the times of some strikes.
func (h *history) blows(which func(blow) bool) []span {
	var spans []span
	for _, b := range h.phase.blows {
		if which(b) {
			spans = append(spans, b.when)
		}
	}
	return spans
}

// disturbed are the times in which something was broken, each until so much later.
func (h *history) disturbed(later time.Duration) []span {
	spans := h.blows(func(b blow) bool { return !b.fault.unnoticed })
	for i := range spans {
		spans[i].to = spans[i].to.plus(later)
	}
	return spans
}

// called groups some calls by name.
func (h *history) called(which func(*hold) bool) map[*place][]*hold {
	by := make(map[*place][]*hold)
	for _, c := range h.calls {
		if which(c) {
			by[c.place] = append(by[c.place], c)
		}
	}
	return by
}

// granted groups the holds by name.
func (h *history) granted() map[*place][]*hold {
	return h.called(func(c *hold) bool { return c.grantedAt != 0 })
}

// stalledIn reports whether a client or the machine stood still in some moment of a time.
func (h *history) stalledIn(p *process, s span) bool {
	return s.touched(h.stalls[p]) || s.touched(h.phase.stalls) || s.touched(p.freezes())
}
