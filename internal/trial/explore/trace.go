package explore

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/scripts"
)

// trace is a path through a world of one mutex as spec/lock.qnt tells it: the events of the specification in their order,
// and after every move what is true then (abstract.go). spec/replay.qnt has the specification take the same path.
//
// A nil trace notes nothing. Times are ns of true time.
type trace struct {
	s      *state
	events []event
	move   string // that is being played
	last   fields // view that was noted
	noted  int    // events up to it

	// By engine.
	read   []int64  // its clock, as it was read last
	newest []uint64 // the tenure that was asked for last
	known  []bool   // the command that its gate has asked for, and that has not been collected, is noted
}

// event is one event of spec/replay.qnt, and the move of the world in which it happened.
type event struct {
	Event any  `json:"event"`
	Meta  meta `json:"#meta"`
}

type meta struct {
	Move string `json:"move"`
}

// follow plays one random path through a world, and then recovers, and notes what happens.
func follow(w *World, in *redismodel.Interpreter, seed uint64, steps int) []event {
	s := newState(w, in, nil, nil)
	n := len(s.engines)
	s.trace = &trace{s: s, read: make([]int64, n), newest: make([]uint64, n), known: make([]bool, n)}
	var path []Move
	s.wander(rand.New(rand.NewPCG(seed, uint64(len(w.Name)))), steps, &path)
	s.recover()
	return s.trace.events
}

func (t *trace) add(tag string, value any) {
	t.events = append(t.events, event{variant{tag, value}, meta{t.move}})
}

// begins is the move that the next events belong to.
func (t *trace) begins(m Move) {
	if t != nil {
		t.move = m.String()
	}
}

// passed is true time that has moved on.
func (t *trace) passed(from int64) {
	if t != nil {
		t.add("Pass", t.s.now-from)
	}
}

// reads is a loop that has read its clock.
func (t *trace) reads(e *engine, now gate.Time) {
	if t == nil || t.read[e.number] == e.truth(now) {
		return
	}
	t.read[e.number] = e.truth(now)
	t.add("Read", e.number)
}

// asks looks whether a gate has asked for a command.
func (t *trace) asks(e *engine) {
	if t == nil || t.known[e.number] {
		return
	}
	for op := range e.fx.Commands {
		for i := range e.fx.Commands[op] {
			t.asked(e, &e.fx.Commands[op][i])
		}
	}
}

// asked notes a command that a gate has requested, after what has become of its tenure since the last event.
func (t *trace) asked(e *engine, c *gate.Command) {
	t.known[e.number] = true
	phase := e.belief().phase
	if t.newest[e.number] < c.ID {
		phase = free
	}
	t.newest[e.number] = max(t.newest[e.number], c.ID)
	t.settle(e, phase)
	t.add("Ask", fields{"e": e.number, "op": unit(ops[c.Op]), "id": e.id(c.ID), "lease": c.Lease})
}

// settle is a tenure that nobody needs any more. It may be released and forgotten in one move.
func (t *trace) settle(e *engine, phase string) {
	if phase == dead || phase == free {
		t.add("Settle", fields{"e": e.number, "phase": unit(dead)})
	}
	if phase == free {
		t.add("Settle", fields{"e": e.number, "phase": unit(free)})
	}
}

// collected is a loop that has taken what its gates asked for.
func (t *trace) collected(e *engine) {
	if t != nil {
		t.asks(e)
		t.known[e.number] = false
	}
}

// sent is a command that has left.
func (t *trace) sent(e *engine, f *flight) {
	if t != nil {
		t.add("Send", fields{"e": e.number, "notAfter": notAfter(f)})
	}
}

// ran is a command that has run. Its engine waits for the answer, or it is a stray.
func (t *trace) ran(f *flight) {
	if t == nil {
		return
	}
	by := slices.IndexFunc(t.s.engines, func(e *engine) bool { return strings.Contains(strings.Join(f.args, " "), e.uuid) })
	e := t.s.engines[by]
	t.add("Execute", fields{
		"c": e.command(f), "refused": answerOf(f.Op, scripts.Reply(f.answer)) == "Refused", "awaited": slices.Contains(e.flights, f),
	})
}

// hears is a gate that is about to be told an answer. A tenure whose deadline has come ends before.
func (t *trace) hears(e *engine, now gate.Time, c *gate.Command) {
	if t == nil {
		return
	}
	b := e.belief()
	if b.phase == ours && now >= b.deadline {
		b.phase = dead
	}
	t.settle(e, b.phase)
	answer := "Unknown"
	switch c.Result {
	case gate.Answered:
		answer = answerOf(c.Op, c.Reply)
	case gate.NotSent:
		answer = "Unsent"
	}
	t.add("Hear", fields{"e": e.number, "answer": unit(answer)})
}

// granted is a caller that was let in.
func (t *trace) granted(c *caller) {
	if t == nil {
		return
	}
	until := int64(1 << 52) // a watched hold has no end of its own
	if !c.kept.watch {
		until = c.e.truth(c.hold.Deadline())
	}
	t.add("Grant", fields{"e": c.e.number, "caller": c.number, "until": until})
}

// ended is a hold that has ended, as its holder knows.
func (t *trace) ended(c *caller) {
	if t != nil {
		t.add("End", c.number)
	}
}

// lost is data that was lost.
func (t *trace) lost() {
	if t != nil {
		t.add("Lose", t.s.key())
	}
}

// died is an engine that has closed or crashed.
func (t *trace) died(e *engine) {
	if t != nil {
		t.known[e.number] = false
		t.add("Die", e.number)
	}
}

// check is the end of a move: what is true now.
func (t *trace) check() {
	if t == nil {
		return
	}
	view := t.s.view()
	if t.noted == len(t.events) && reflect.DeepEqual(view, t.last) {
		return
	}
	for _, e := range t.s.engines {
		if b := e.belief(); !e.dead {
			t.settle(e, b.phase)
			t.add("Keep", fields{"e": e.number, "orphans": setOf(b.orphans)})
		}
	}
	t.add("Check", view)
	t.last, t.noted = view, len(t.events)
}

// tracedWorlds are of one mutex without what the specification leaves out: re-entry, Extend, ForceUnlock and lines.
var tracedWorlds = []*World{
	traced("traced mutex", allFaults[:slices.Index(allFaults, Die)], Lock, LockFixed, TryLock, TryFixed, Drop),
	traced("traced mutex that closes", allFaults, Lock, Lock, LockFixed, LockFixed, TryLock, TryFixed, Close),
}

func traced(name string, faults []Fault, calls ...Call) *World {
	return &World{
		Name: name, Kind: gate.MutexKind, Engines: 2, Outsiders: 2, Names: 1, Handoff: 10 * time.Millisecond, EveryOrder: true,
		Calls: calls, Faults: faults, MostCalls: 20, MostFaults: 6, MostTicks: 30,
	}
}
