package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/internal/gate"
)

// Move is one event. Its text is "<engine>.<what><index>@<name>", without the parts that do not apply: "A.lock", "B.run1",
// "tick", "A.lock@2".
type Move struct {
	do     action
	call   Call
	fault  Fault
	engine int8
	index  int8
	name   int8
}

type action uint8

const (
	doCall       action = iota
	unlock              // a caller gives its hold back, or finds that it is over
	ring                // the loop sees to what is due
	run                 // a command runs in Redis
	arrive              // its answer arrives
	confirm             // a channel is subscribed to
	hear                // a message arrives
	mend                // the connection for commands is there again
	mendEar             // that for messages
	resume              // a loop that stood still goes on
	letGo               // a command that was held up goes on
	letSubscribe        // so does the subscriber
	letHear             // so do messages
	runStray            // a command that nobody waits for runs
	heal                // the server takes writes again
	tick                // time passes until something is due
	doFault
	actions
)

var actionNames = [actions]string{
	doCall: "", unlock: "unlock", ring: "ring", run: "run", arrive: "arrive", confirm: "confirm", hear: "hear", mend: "mend",
	mendEar: "mend-ear", resume: "resume",
	letGo: "let-go", letSubscribe: "let-subscribe", letHear: "let-hear", runStray: "run-stray", heal: "heal", tick: "tick", doFault: "",
}

func (m Move) String() string {
	var b strings.Builder
	if m.engine >= 0 {
		b.WriteByte(byte('A' + m.engine))
		b.WriteByte('.')
	}
	switch m.do {
	case doCall:
		b.WriteString(m.call.String())
	case doFault:
		b.WriteString(m.fault.String())
	default:
		b.WriteString(actionNames[m.do])
	}
	if m.index > 0 {
		fmt.Fprintf(&b, "#%d", m.index)
	}
	if m.name > 0 {
		fmt.Fprintf(&b, "@%d", m.name)
	}
	return b.String()
}

// ParseMoves reads moves that are separated by white space.
func ParseMoves(text string) ([]Move, error) {
	var moves []Move
	for _, word := range strings.Fields(text) {
		m, err := parseMove(word)
		if err != nil {
			return nil, err
		}
		moves = append(moves, m)
	}
	return moves, nil
}

func parseMove(word string) (Move, error) {
	m := Move{engine: -1}
	rest := word
	if len(rest) > 2 && rest[1] == '.' {
		m.engine, rest = int8(rest[0]-'A'), rest[2:]
	}
	var err error
	number := func(sep string) (n int8) {
		before, after, found := strings.Cut(rest, sep)
		if !found {
			return 0
		}
		rest = before
		i, e := strconv.ParseInt(after, 10, 8)
		if e != nil {
			err = fmt.Errorf("move %q: %w", word, e)
		}
		return int8(i)
	}
	m.name = number("@")
	m.index = number("#")
	if err != nil {
		return m, err
	}
	if i := slices.Index(callNames[:], rest); i >= 0 {
		m.do, m.call = doCall, Call(i)
	} else if i := slices.Index(faultNames[:], rest); i >= 0 {
		m.do, m.fault = doFault, Fault(i)
	} else if i := slices.Index(actionNames[:], rest); i > 0 {
		m.do = action(i)
	} else {
		return m, fmt.Errorf("move %q: there is no such event", word)
	}
	return m, nil
}

func formatMoves(moves []Move) string {
	words := make([]string, len(moves))
	for i, m := range moves {
		words[i] = m.String()
	}
	return strings.Join(words, " ")
}

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
			if e.earDown {
				add(mendEar, e, 0)
			}
			if e.paused {
				add(resume, e, 0)
			}
			if e.earHeld {
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
		if len(e.wishes) > 0 && !e.earDown {
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
		if len(e.wishes) > 0 && !e.earDown && !e.earHeld {
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
		e.earHeld, e.failed = true, s.age
	case hear:
		e.deaf, e.failed = true, s.age
	default:
		return false
	}
	return true
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
	case ForceUnlock:
		return s.ownerOf(name) != ""
	case Extend:
		return s.extendable(e, name) != nil
	case Drop:
		return s.waiting(e, name) != nil
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

func (s *state) waiting(e *engine, name int) *caller {
	for _, c := range slices.Backward(s.callers) {
		if c.e == e && c.name == name && c.waits() {
			return c
		}
	}
	return nil
}

// ownerOf is the owner field that stands in Redis for a name; empty: none.
func (s *state) ownerOf(name int) string {
	v := s.do("HKEYS", nameOf(name))
	for _, field := range v.Array {
		if field.Str != "mode" {
			return field.Str
		}
	}
	return ""
}

// apply plays a move. False: it is not possible now.
func (s *state) apply(m Move) bool {
	s.trace.begins(m)
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
		e.encoder.Decode(&f.Command, f.answer)
		e.post(nil, "an answer arrives", func(now gate.Time) { e.answer(now, &f.Command) })
	case confirm:
		if len(e.wishes) == 0 || e.earDown {
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
	case mendEar:
		if !e.earDown {
			return false
		}
		e.mendEar()
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
		if !e.earHeld {
			return false
		}
		e.earHeld = false
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
		s.run(f)
	case heal:
		if s.refusing == faults {
			return false
		}
		s.note("    the server takes writes again")
		s.refusing = faults
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
			held.hold.Cell.Machine.Extend(now, &held.hold, fixedLease, a, &e.fx)
		})
	case Drop:
		s.waiting(e, name).drop()
	case ForceUnlock:
		c.force()
	case Close:
		e.close()
	case Give, CountDown:
		c.change()
	default:
		c.ask()
	}
	return true
}
