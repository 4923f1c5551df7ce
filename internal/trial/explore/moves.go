package explore

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redismodel"
)

// moves appends every move that is possible now.
func (s *state) moves(all []Move) []Move {
	if !s.w.EveryOrder {
		if m, any := s.next(); any {
			return s.departures(append(all, m))
		}
	} else {
		all = s.arrivals(all)
	}
	add := func(do action, e *engine, index int) {
		m := Move{do: do, engine: -1, index: int8(index)}
		if e != nil {
			m.engine = int8(e.number)
		}
		all = append(all, m)
	}
	first := len(all)
	for _, overdue := range []bool{true, false} {
		s.recoveries(overdue, add)
		if overdue && len(all) > first { // something must work again before anybody does anything
			return all
		}
	}
	for i, c := range s.callers {
		if c.hasHold() && !c.e.dead {
			add(unlock, nil, i)
		}
	}
	all = s.publishMoves(all)
	if s.ticks < s.w.MostTicks && s.nextInstant() != never {
		switch {
		case !s.pendingOrDue():
			add(tick, nil, 0)
		case !s.anyDue() && s.faults < s.w.MostFaults && slices.Contains(s.w.Faults, Delay):
			all = append(all, Move{do: doFault, fault: Delay, engine: -1})
		}
	}
	all = s.callMoves(all)
	if s.faults < s.w.MostFaults {
		all = s.faultMoves(all)
	}
	return all
}

// recoveries adds what may work again: what must, or what may wait.
func (s *state) recoveries(overdue bool, add func(do action, e *engine, index int)) {
	for _, e := range s.engines {
		if e.dead {
			continue
		}
		if s.overdue(e.failed) == overdue {
			if e.link != linkUp && !e.paused {
				add(mend, e, 0)
			}
			if e.subscriptionDown {
				add(mendSubscription, e, 0)
			}
			if e.paused {
				add(resume, e, 0)
			}
			if e.subscriptionHeld {
				add(letSubscribe, e, 0)
			}
			if e.deaf {
				add(letHear, e, 0)
			}
		}
		for i, f := range e.flights {
			if f.held && s.overdue(f.since) == overdue {
				add(letGo, e, i)
			}
		}
	}
	if !overdue {
		for i := range s.strays {
			add(runStray, nil, i)
		}
	}
	if s.refusing != faults && s.overdue(s.refusedAt) == overdue {
		add(heal, nil, 0)
	}
}

// arrivals appends everything that is on its way, and what is due.
func (s *state) arrivals(all []Move) []Move {
	for _, e := range s.engines {
		if e.dead {
			continue
		}
		n := int8(e.number)
		for i, f := range e.flights {
			if f.ran {
				all = append(all, Move{do: arrive, engine: n, index: int8(i)})
			} else {
				all = append(all, Move{do: run, engine: n, index: int8(i)})
			}
		}
		if len(e.wishes) > 0 && !e.subscriptionDown {
			all = append(all, Move{do: confirm, engine: n})
		}
		if len(e.messages) > 0 {
			all = append(all, Move{do: hear, engine: n})
		}
		if !e.paused && e.due() {
			all = append(all, Move{do: ring, engine: n})
		}
	}
	return all
}

// next is what happens next when everything arrives at once. False: nothing is on its way.
func (s *state) next() (Move, bool) {
	for _, e := range s.engines {
		if e.dead {
			continue
		}
		m := Move{engine: int8(e.number)}
		if !e.paused && e.due() {
			m.do = ring
			return m, true
		}
		for i, f := range e.flights {
			if f.held {
				continue
			}
			m.do, m.index = run, int8(i)
			if f.ran {
				m.do = arrive
			}
			return m, true
		}
		if len(e.wishes) > 0 && !e.subscriptionDown && !e.subscriptionHeld {
			m.do = confirm
			return m, true
		}
		if len(e.messages) > 0 && !e.deaf {
			m.do = hear
			return m, true
		}
	}
	return Move{}, false
}

// departures appends what may happen instead of the next move.
func (s *state) departures(all []Move) []Move {
	if s.faults >= s.w.MostFaults {
		return all
	}
	if slices.Contains(s.w.Faults, Hold) && all[len(all)-1].do != ring {
		all = append(all, Move{do: doFault, fault: Hold, engine: -1})
	}
	return s.faultMoves(all)
}

func (s *state) anyDue() bool {
	return slices.ContainsFunc(s.engines, func(e *engine) bool { return !e.dead && !e.paused && e.due() })
}

// callMoves appends what callers may do.
func (s *state) callMoves(all []Move) []Move {
	if s.w.Programs != nil {
		return s.programMoves(all)
	}
	if s.calls >= s.w.MostCalls {
		return all
	}
	for _, e := range s.engines {
		if e.dead || e.closing {
			continue
		}
		for name := range s.w.Names {
			for _, call := range s.w.Calls {
				if s.possible(e, name, call) {
					all = append(all, Move{do: doCall, call: call, engine: int8(e.number), name: int8(name)})
				}
			}
		}
		if !e.touched { // it stands for all to whom nothing has happened yet
			break
		}
	}
	return all
}

// programMoves appends the next call of every engine's program.
func (s *state) programMoves(all []Move) []Move {
	for i, e := range s.engines {
		if program := s.w.Programs[i]; !e.dead && !e.closing && e.called < len(program) && s.possible(e, 0, program[e.called]) {
			all = append(all, Move{do: doCall, call: program[e.called], engine: int8(i)})
		}
	}
	return all
}

func (s *state) possible(e *engine, name int, call Call) bool {
	switch call {
	case Close:
		return name == 0 && e.touched
	case ForceUnlock, Adopt:
		return s.ownerOf(name) != ""
	case Extend:
		return s.extendable(e, name) != nil
	case Detach:
		return s.detachable(e, name) != nil
	case Drop, DropFirst:
		return s.waiting(e, name) != nil
	case Release:
		return s.releasable() != nil
	}
	return true
}

func (s *state) extendable(e *engine, name int) *caller {
	for _, c := range slices.Backward(s.callers) {
		if c.e == e && c.name == name && c.holds() && !c.kept.watch {
			return c
		}
	}
	return nil
}

// detachable is the newest hold whose Owner has no other.
func (s *state) detachable(e *engine, name int) *caller {
	for _, c := range slices.Backward(s.callers) {
		if c.e == e && c.name == name && c.holds() && c.kept.owner == 0 {
			return c
		}
	}
	return nil
}

// heldUnder reports whether a hold lives under a tenure of an engine.
func (s *state) heldUnder(e *engine, tenure uint64) bool {
	return slices.ContainsFunc(s.callers, func(c *caller) bool { return c.e == e && c.hold.Tenure == tenure && c.holds() })
}

// releasable are the holds of permits, the newest first.
func (s *state) releasable() (held []*caller) {
	for _, c := range slices.Backward(s.callers) {
		if c.holds() && !c.isLossy() && !c.e.dead {
			held = append(held, c)
		}
	}
	return held
}

func (s *state) waiting(e *engine, name int) *caller {
	for _, c := range slices.Backward(s.callers) {
		if c.e == e && c.name == name && c.waits() {
			return c
		}
	}
	return nil
}

// waitingFirst is the oldest call that waits.
func (s *state) waitingFirst(e *engine, name int) *caller {
	for _, c := range s.callers {
		if c.e == e && c.name == name && c.waits() {
			return c
		}
	}
	return nil
}

// ownerOf is the owner field that stands in Redis for a name; empty: none.
func (s *state) ownerOf(name int) string {
	for _, field := range s.owners(nameOf(name)) {
		if field != "mode" {
			return field
		}
	}
	return ""
}

// owners are the fields of a lock, or the value of a simple one.
func (s *state) owners(name string) (fields []string) {
	if s.w.Kind == gate.SimpleKind {
		if v := s.do("GET", name); v.Kind == redismodel.Str {
			fields = append(fields, v.Str)
		}
		return fields
	}
	for _, v := range s.do("HKEYS", name).Array {
		fields = append(fields, v.Str)
	}
	return fields
}

// has reports whether an owner has a lock.
func (s *state) has(name, owner string) bool { return slices.Contains(s.owners(name), owner) }
