package explore

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// faultMoves appends what may fail now.
func (s *state) faultMoves(all []Move) []Move {
	next, any := Move{engine: -1}, false
	if !s.w.EveryOrder {
		next, any = s.next()
	}
	for _, f := range s.w.Faults {
		if f == Hold || f == Delay { // which have moves of their own
			continue
		}
		for _, e := range s.engines {
			if e.dead || !e.touched || any && !f.strikes(next, e.number) {
				continue
			}
			if s.mayFail(e, f) {
				all = append(all, Move{do: doFault, fault: f, engine: int8(e.number)})
			}
		}
		if s.failsEverywhere(f) && (s.w.EveryOrder || any && f.strikes(next, -1)) {
			all = append(all, Move{do: doFault, fault: f, engine: -1})
		}
	}
	return all
}

// strikes reports whether a fault makes a difference to the next move that it would not make to a later one: a fault that
// could as well come later does.
func (f Fault) strikes(next Move, engine int) bool {
	if engine >= 0 && int(next.engine) != engine {
		return false
	}
	switch f {
	case Break, Failover1, Failover2:
		return next.do == run || next.do == arrive
	case Twice, UnderReplicas:
		return next.do == arrive
	case BreakSubscription:
		return next.do == confirm || next.do == hear
	case LoseMessage, TwiceMessage:
		return next.do == hear
	case Pause, PauseInTurn, Die:
		return next.do != run || f == Die
	}
	return next.do == run
}

// mayFail reports whether f may happen to an engine.
func (s *state) mayFail(e *engine, f Fault) bool {
	switch f {
	case Break:
		return e.link == linkUp && len(e.flights) > 0
	case Down:
		return e.link == linkBroken && !e.paused
	case Twice, UnderReplicas:
		return len(e.flights) > 0 && e.flights[0].ran && !e.flights[0].apart && (f == Twice || !e.paused)
	case BreakSubscription:
		return !e.subscriptionDown && len(e.heard) > 0
	case LoseMessage, TwiceMessage:
		return len(e.messages) > 0
	case Pause, PauseInTurn:
		return !e.paused && !e.closing && s.busy(e)
	case Die:
		return s.busy(e)
	}
	return false
}

// busy reports whether an engine holds or wants anything.
func (s *state) busy(e *engine) bool {
	return slices.ContainsFunc(e.cells, func(c *gate.Entry) bool { return c != nil })
}

// failsEverywhere reports whether a fault of the server may happen.
func (s *state) failsEverywhere(f Fault) bool {
	if _, refuses := refusals[f]; refuses {
		return s.refusing == faults
	}
	switch f {
	case LoseKey:
		return s.ownerOf(0) != ""
	case Failover1:
		return len(s.history) > 0
	case Failover2:
		return len(s.history) > 1
	}
	return false
}

// fails plays a fault. False: it is not possible now.
func (s *state) fails(e *engine, m Move) bool {
	_, refuses := refusals[m.fault]
	switch {
	case refuses:
		if s.refusing != faults {
			return false
		}
		s.refusing, s.refusedAt = m.fault, s.age
		s.note("    the server answers otherwise: %v", m.fault)
	case m.fault == Hold:
		if !s.hold() {
			return false
		}
	case m.fault == Delay:
		if !s.pendingOrDue() || s.nextInstant() == never || slices.ContainsFunc(s.engines, func(e *engine) bool { return !e.dead && !e.paused && e.due() }) {
			return false
		}
		s.ticks++
		s.ages()
		s.pass(s.nextInstant())
	case e == nil:
		if !s.failsEverywhere(m.fault) {
			return false
		}
		s.destroy(m.fault)
	case !s.mayFail(e, m.fault):
		return false
	default:
		e.fail(m.fault)
	}
	s.faults++
	return true
}

// destroy loses data.
func (s *state) destroy(f Fault) {
	s.lose()
	if f == LoseKey {
		s.note("    the key of %s vanishes", nameOf(0))
		s.do("DEL", nameOf(0))
		return
	}
	back := 1
	if f == Failover2 {
		back = 2
	}
	s.note("    a replica takes over that lacks the last %d changes", back)
	s.server.Restore(s.history[len(s.history)-back])
	s.pass(s.now + 1e6) // nothing takes over in no time
	s.history = nil
	for _, e := range s.engines {
		if e.dead {
			continue
		}
		e.breakSubscription()
		e.breakLink()
	}
}

func (e *engine) fail(f Fault) {
	switch f {
	case Break:
		e.breakLink()
	case Down:
		e.link = linkDown
		e.turn("no connection can be made", e.endFast)
	case Twice:
		copied := *e.flights[0]
		copied.ran, copied.copied, copied.since = false, true, e.s.age
		copied.late = e.lateAt(&copied)
		e.s.strays = append(e.s.strays, &copied)
	case UnderReplicas:
		flight := e.flights[0]
		e.flights = e.flights[1:]
		flight.decode(e)
		flight.Command.Unreplicated()
		e.post(nil, "an answer arrives: too few replicas have it", func(now gate.Time) { e.answer(now, &flight.Command) })
	case BreakSubscription:
		e.breakSubscription()
	case LoseMessage:
		e.s.unheard = true
		e.takeNews()
	case TwiceMessage:
		e.messages = append(e.messages, e.messages[0])
	case Pause:
		e.paused, e.inTurn, e.failed = true, false, e.s.age
	case PauseInTurn:
		e.paused, e.inTurn, e.pausedAt, e.failed = true, true, e.now(), e.s.age
	case Die:
		e.crashed, e.cutOff = true, true
		e.s.unheard = true
		e.s.counted.unknown = e.s.w.Kind != gate.PermitKind // what it had taken and given is known to nobody
		e.die()
	}
}

// endFast is what a link that is down means to the callers that do not wait for it.
func (e *engine) endFast(now gate.Time) {
	e.each(func(m gate.Machine) {
		m.Dismiss(now, gate.Outcome{Why: gate.Doubtful}, func(w *gate.Waiter) bool { return w.Fast }, &e.fx)
	})
}

// breakLink loses every answer that is on its way.
func (e *engine) breakLink() {
	if e.link != linkUp {
		return
	}
	e.link, e.failed = linkBroken, e.s.age
	lost := e.flights
	e.scatter()
	e.post(nil, "its connection breaks", func(now gate.Time) {
		e.cfg.Epoch++
		for _, f := range lost {
			back := f.Command
			back.Result, back.Reply = gate.Unknown, 0
			e.answer(now, &back)
		}
	})
}

// scatter makes strays of the commands that have not run.
func (e *engine) scatter() {
	for _, f := range e.flights {
		if !f.ran {
			f.late, f.since, f.held = e.lateAt(f), e.s.age, false
			e.s.strays = append(e.s.strays, f)
		}
	}
	e.flights = nil
}

// lateAt is the true time from which on a command with a notAfter does nothing.
func (e *engine) lateAt(f *flight) int64 { return e.truth(f.Sent+gate.LateWindow) + 2_000_000 }

// mend is the connection for commands being there again.
func (e *engine) mend() {
	e.turn("it is connected again", func(now gate.Time) {
		e.link = linkUp
		e.learn()
		e.each(func(m gate.Machine) { m.LinkUp(now, &e.fx) })
	})
}

// breakSubscription loses the subscriptions and what has not been heard.
func (e *engine) breakSubscription() {
	e.subscriptionDown, e.subscriptionHeld, e.deaf, e.messages, e.failed = true, false, false, nil, e.s.age
	clear(e.s.subscribers[e.number])
}

// mendSubscription subscribes to everything again.
func (e *engine) mendSubscription() {
	e.subscriptionDown, e.wishes = false, nil
	e.wishes = append(e.wishes, sortedKeys(e.heard)...)
	for len(e.wishes) > 0 {
		e.confirm()
	}
}

func (l *delayed) note(e *engine) {
	if l.by != nil {
		e.s.note("    %v: %v %s", e, l.by, l.what)
	} else {
		e.s.note("    %v: %s", e, l.what)
	}
}

// resume lets a loop that stood still go on. In the middle of a turn it takes its mail with the time that it had read.
func (e *engine) resume() {
	mail, inTurn, before := e.mail, e.inTurn, e.pausedAt
	e.mail, e.paused, e.inTurn, e.pausedAt = nil, false, false, 0
	if inTurn {
		e.s.note("    %v: it goes on in its turn, with an old reading of the clock", e)
		for _, l := range mail {
			l.note(e)
			l.do(before)
		}
		for _, c := range e.s.callers {
			if c.e == e && c.hasHold() { // nobody has looked at a hold that was over, and was prolonged unseen
				c.invalid = false
			}
		}
		now := e.now()
		e.ringDue(now)
		e.timeOut(now)
		e.finish(now)
		return
	}
	e.turn("it goes on", func(now gate.Time) {
		for _, l := range mail {
			l.note(e)
			l.do(now)
		}
	})
}
