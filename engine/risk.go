package engine

import (
	"sync"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Risk says that the renewal of a hold is overdue; or, with a nil Err, that the hold was renewed after all. Unless it is renewed it
// is lost when Left is over.
//
// The watchdog's renewal leaves after a third of the lease. It is overdue when half of the lease is over, and an attempt has failed
// since or has had no answer for a tenth of the lease: with a lease of 30 s after 15 to 18 s, and never after more than 21. A fault that is over within a sixth of the lease is not told, and neither is a pause of this process.
//
// A hold is told once, until it is renewed. Then a Risk with a nil Err follows, or Ended if it was unlocked or lost instead, after which
// no Risk comes. A risk that is over before it could be told is not told. A hold with a fixed lease is never at risk, because nobody
// renews it. A hold of several locks is at risk when too few of them would be left without those that are. [Stats].AtRisk counts the
// holds that are, a lock of several by itself.
type Risk struct {
	Name  string // as it was given
	Kind  Kind
	Owner string        // [Hold.TenureID]: the owner field in Redis
	Left  time.Duration // until [Hold.Deadline]
	Err   error         // why it is not renewed: [ErrNotSent], [ErrUncertain] (no answer), [ErrRefused] or [ErrNotReplicated]; nil: it was
}

// risks tells the Observer of holds that are at risk. All wait in one queue for one callback worker: an outage puts all holds at risk
// within a third of their lease, and so many callbacks must not keep other callbacks waiting. The queue says only that something has
// changed; what is told is what is true when its turn comes.
type risks struct {
	e *Engine

	mu      sync.Mutex // guards the rest
	changed []riskOf
	telling bool // a worker does, or will
}

// riskOf is a hold that came into a risk, because of err, or out of one.
type riskOf struct {
	of  *observedEnd
	err error
}

// note has the Observer told of what has changed. It does not block.
func (r *risks) note(of *observedEnd, err error) {
	r.mu.Lock()
	r.changed = append(r.changed, riskOf{of, err})
	first := !r.telling
	r.telling = true
	r.mu.Unlock()
	if first {
		r.e.callbacks.Go(r)
	}
}

// Run tells until nothing is left. It implements futures.Task.
func (r *risks) Run() {
	done := false
	defer func() {
		if !done { // a function of the Observer has ended the goroutine
			r.e.callbacks.Go(r)
		}
	}()
	for {
		r.mu.Lock()
		if len(r.changed) == 0 {
			r.changed, r.telling, done = nil, false, true
			r.mu.Unlock()
			return
		}
		next := r.changed[0]
		r.changed = r.changed[1:]
		r.mu.Unlock()
		next.of.tellRisk(next.err)
	}
}

// AtRisk is called by the loop when the renewal of the hold is overdue, Renewed when it was renewed after all. They implement
// gate.Warned, as those of observedHold do.
func (h *held) AtRisk(why gate.Outcome)         { (*Hold)(h).changeRisk(why) }
func (h *held) Renewed()                        { (*Hold)(h).changeRisk(gate.Outcome{}) }
func (o *observedHold) AtRisk(why gate.Outcome) { o.changeRisk(why) }
func (o *observedHold) Renewed()                { o.changeRisk(gate.Outcome{}) }

// The loop finds either by a type assertion, which would leave out what does not fit.
var _, _ gate.Warned = (*held)(nil), (*observedHold)(nil)

// changeRisk notes that the hold is at risk because of why, or, if that is Granted, no more.
func (h *Hold) changeRisk(why gate.Outcome) {
	err := errorOf("renew", h.name, why)
	if err != nil {
		h.e.overdue.noteRisk(h, err)
	}
	if whole := h.whole(); whole != nil {
		whole.composite().changeRisk(h, err)
	} else if o := observedEndOf(h); o != nil && h.e.observesRisks() {
		o.setRisk(err != nil)
		h.e.risks.note(o, err)
	}
}

// whole returns the hold of several locks that this one is a part of; nil: of none.
func (h *Hold) whole() *Hold {
	l := h.endings.Load()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole
}

// changeRisk notes that a part is at risk because of err, or no more.
func (c *composite) changeRisk(part *Hold, err error) {
	c.mu.Lock()
	if err == nil {
		delete(c.atRisk, part)
	} else {
		if c.atRisk == nil {
			c.atRisk = make(map[*Hold]bool)
		}
		c.atRisk[part] = true
	}
	c.mu.Unlock()
	c.noteRisk(err)
}

// noteRisk has the Observer told if the whole is at risk now, because of err, or no more.
func (c *composite) noteRisk(err error) {
	if e := c.told.hold.e; e.observesRisks() {
		e.risks.note(&c.told, err)
	}
}

// isAtRisk reports whether too few parts are left without those that are at risk.
func (c *composite) isAtRisk() bool {
	c.mu.Lock()
	var safe []*Hold
	for _, part := range c.present() {
		if !c.atRisk[part] {
			safe = append(safe, part)
		}
	}
	c.mu.Unlock()
	return living(safe) < c.need
}

func (e *Engine) observesRisks() bool { return e.opts.Observer != nil && e.opts.Observer.Risk != nil }

// The states of an observedEnd, which are bits.
const (
	firstMet uint32 = 1 << iota // Granted was told, or the hold has ended
	riskNow                     // the loop says that it is at risk; of a hold of several locks its parts say it
	riskTold                    // a function is being told of a risk
	endDue                      // both were there: nothing comes but Ended, which whoever clears riskTold tells if that is set
)

func (o *observedEnd) setRisk(is bool) {
	if is {
		o.state.Or(riskNow)
	} else {
		o.state.And(^riskNow)
	}
}

func (o *observedEnd) isAtRisk() bool {
	if c := o.hold.composite(); c != nil {
		return c.isAtRisk()
	}
	return o.state.Load()&riskNow != 0
}

// tellRisk tells the Observer if the hold has come into a risk since it was told last, or out of one.
func (o *observedEnd) tellRisk(err error) {
	h := o.hold
	is := o.isAtRisk()
	if is == o.risky || is && err == nil || h.Err() != nil || !o.begin() {
		return
	}
	defer func() {
		if o.state.And(^riskTold)&endDue != 0 {
			o.tellEnded()
		}
	}()
	o.risky = is
	if !is {
		err = nil
	}
	left := time.Until(h.Deadline())
	h.e.tell(func() { h.e.opts.Observer.Risk(Risk{h.name, h.kind.text(), h.TenureID(), left, err}) })
}

// begin has Ended wait. False: Granted was not told yet, and has the risk told afterwards, or Ended was told.
func (o *observedEnd) begin() bool {
	for {
		s := o.state.Load()
		if s&firstMet == 0 || s&endDue != 0 {
			return false
		}
		if o.state.CompareAndSwap(s, s|riskTold) {
			return true
		}
	}
}
