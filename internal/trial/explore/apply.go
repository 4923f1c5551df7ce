package explore

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// hold holds up what would happen next. False: nothing would.
func (s *state) hold() bool {
	m, any := s.next()
	if !any {
		return false
	}
	e := s.engines[m.engine]
	switch m.do {
	case run, arrive:
		e.flights[m.index].held, e.flights[m.index].since = true, s.age
	case confirm:
		e.subscriptionHeld, e.failed = true, s.age
	case hear:
		e.deaf, e.failed = true, s.age
	default:
		return false
	}
	return true
}

// apply plays a move. False: it is not possible now.
func (s *state) apply(m Move) bool {
	var e *engine
	if m.engine >= 0 {
		if int(m.engine) >= len(s.engines) {
			return false
		}
		e = s.engines[m.engine]
		if e.dead {
			return false
		}
	}
	i := int(m.index)
	if m.do != run && m.do != arrive && m.do != hear && m.do != publish {
		s.countAnew()
	}
	switch m.do {
	case doCall:
		return s.callIs(e, int(m.name), m.call)
	case doFault:
		return s.fails(e, m)
	case unlock:
		if i >= len(s.callers) || !s.callers[i].hasHold() || s.callers[i].e.dead {
			return false
		}
		s.ages()
		s.callers[i].unlock()
	case ring:
		if e.paused || !e.due() {
			return false
		}
		e.turn("something is due", nil)
	case run:
		if i >= len(e.flights) || e.flights[i].ran {
			return false
		}
		s.run(e.flights[i])
	case arrive:
		if i >= len(e.flights) || !e.flights[i].ran {
			return false
		}
		f := e.flights[i]
		e.flights = slices.Delete(e.flights, i, i+1)
		f.decode(e)
		e.post(nil, "an answer arrives", func(now gate.Time) { e.answer(now, &f.Command) })
	case confirm:
		if len(e.wishes) == 0 || e.subscriptionDown {
			return false
		}
		e.confirm()
	case hear:
		if len(e.messages) == 0 {
			return false
		}
		e.hear()
	case mend:
		if e.link == linkUp || e.paused {
			return false
		}
		e.mend()
	case mendSubscription:
		if !e.subscriptionDown {
			return false
		}
		e.mendSubscription()
	case resume:
		if !e.paused {
			return false
		}
		e.resume()
	case letGo:
		if i >= len(e.flights) || !e.flights[i].held {
			return false
		}
		e.flights[i].held, e.flights[i].since = false, noAge
	case letSubscribe:
		if !e.subscriptionHeld {
			return false
		}
		e.subscriptionHeld = false
	case letHear:
		if !e.deaf {
			return false
		}
		e.deaf = false
	case runStray:
		if i >= len(s.strays) {
			return false
		}
		f := s.strays[i]
		s.strays = slices.Delete(s.strays, i, i+1)
		s.note("    a command whose answer nobody waits for runs")
		s.surprised = s.surprised || f.copied || s.now >= f.late
		// By it an engine may come to the front of a line in which it does not wait any more, and an outsider tells it nothing.
		s.unheard = s.unheard || f.Op == gate.AcquireInLine && s.w.Outsiders > 0
		s.unheard = s.unheard || leaves(&f.Command) // its engine may have another place by then
		s.run(f)
	case heal:
		if s.refusing == faults {
			return false
		}
		s.note("    the server takes writes again")
		s.refusing = faults
	case publish:
		if !s.publishes(i) {
			return false
		}
	case tick:
		at := s.nextInstant()
		if at == never || s.pendingOrDue() {
			return false
		}
		s.ticks++
		s.ages()
		s.pass(at)
	}
	if e != nil && e.works() {
		e.failed = noAge
	}
	return true
}

func (s *state) pendingOrDue() bool {
	return s.anyDue() || slices.ContainsFunc(s.engines, (*engine).pending)
}

// callIs is a caller that does something. False: it cannot.
func (s *state) callIs(e *engine, name int, call Call) bool {
	if e == nil || e.closing || name >= s.w.Names || !s.possible(e, name, call) {
		return false
	}
	s.calls++
	s.ages()
	e.called++
	e.touched = true
	c := &caller{s: s, e: e, number: ordinal(len(s.callers)), name: name, call: call, kept: requests[call]}
	switch call {
	case Extend:
		held := s.extendable(e, name)
		a := &ack{s: s, what: "Extend", by: held}
		e.post(held, "extends", func(now gate.Time) {
			held.hold.Entry.Machine.Extend(now, &held.hold, fixedLease, a, &e.fx)
		})
	case Detach:
		s.detachable(e, name).detach()
	case Drop:
		s.waiting(e, name).drop()
	case DropFirst:
		s.waitingFirst(e, name).drop()
	case ForceUnlock:
		c.force()
	case Close:
		e.close()
	case Give, CountDown:
		c.change()
	case Release:
		c.releaseOf(s.releasable())
	default:
		c.ask()
	}
	return true
}
