package explore

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
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
	read    []int64  // its clock, as it was read last
	newest  []uint64 // the tenure that was asked for last
	known   []bool   // the command that its gate has asked for, and that has not been collected, is noted
	inboxes []bool   // the server sends to it what is for it alone
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
	s.trace = &trace{s: s, read: make([]int64, n), newest: make([]uint64, n), known: make([]bool, n), inboxes: make([]bool, n)}
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
	t.abandoned(e)
	t.add("Ask", fields{"e": e.number, "op": unit(ops[c.Op]), "wish": e.wish(c), "id": e.id(c.ID), "lease": c.LeaseTime})
}

// abandoned is a place that an engine gives up. It is an orphan from then on.
func (t *trace) abandoned(e *engine) {
	if b := e.belief(); b.place.id == 0 && len(b.orphans) > 0 {
		t.add("Abandon", e.number)
	}
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
	answer := answerOf(f.Op, scripts.Reply(f.answer))
	t.add("Execute", fields{
		"c": e.command(f), "refused": answer == "Refused" || answer == "No" && f.Op == gate.AcquireInLine && !e.outside,
		"awaited": slices.Contains(e.flights, f),
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
	t.abandoned(e)
	answer := "Unknown"
	switch c.Result {
	case gate.Answered:
		answer = answerOf(c.Op, c.Reply)
	case gate.NotSent:
		answer = "Unsent"
	}
	t.add("Hear", fields{"e": e.number, "answer": unit(answer)})
}

// mark is the place of an engine, and how many events there are.
type mark struct {
	place  ownPlace
	events int
}

// mark is where an engine stands that is about to handle messages.
func (t *trace) mark(e *engine) (m mark) {
	if t != nil {
		m = mark{e.belief().place, len(t.events)}
	}
	return m
}

// heard is an engine that has handled messages. If one of them had the code of its place, it has taken the lock, or used the code up, before
// whatever else it did.
func (t *trace) heard(e *engine, said []message, m mark) {
	code := strconv.FormatInt(m.place.code, 10)
	if t == nil || m.place.code == 0 || !slices.ContainsFunc(said, func(m message) bool { return m.text == code }) {
		return
	}
	tag := "Spend"
	if b := e.belief(); (b.phase == ours || b.phase == dead) && b.id == m.place.id {
		tag = "Take"
	}
	t.events = slices.Insert(t.events, m.events, event{variant{tag, e.number}, meta{t.move}})
}

// listens is a server that begins or ends to send to an engine what is for it alone.
func (t *trace) listens(e *engine) {
	if t != nil && t.inboxes[e.number] != e.listens() {
		t.inboxes[e.number] = e.listens()
		t.add("Listen", fields{"e": e.number, "on": e.listens()})
	}
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
		t.add("Lose", fields{"key": t.s.key(), "line": t.line()})
	}
}

// died is an engine that has closed or crashed.
func (t *trace) died(e *engine) {
	if t != nil {
		t.known[e.number], t.inboxes[e.number] = false, false
		t.add("Die", e.number)
	}
}

// check is the end of a move: what is true now.
func (t *trace) check() {
	if t == nil {
		return
	}
	view := t.view()
	if t.noted == len(t.events) && reflect.DeepEqual(view, t.last) {
		return
	}
	for _, e := range t.s.engines {
		if b := e.belief(); !e.dead {
			t.settle(e, b.phase)
			t.abandoned(e)
			t.add("Keep", fields{"e": e.number, "orphans": setOf(b.orphans)})
		}
	}
	t.add("Check", view)
	t.last, t.noted = view, len(t.events)
}

// view is what is compared of the state, with the leases of places: for how long each is given the lock, in Redis and as its engine knows it.
func (t *trace) view() fields {
	view := t.s.view()
	view["line"] = t.line()
	for n, e := range t.s.engines {
		for _, place := range view["engines"].([]fields)[n]["places"].(fields)["#set"].([]fields) {
			lock := reflect.ValueOf(e.cells[0].Machine).Elem()
			place["lease"] = lock.FieldByName("contest").Elem().FieldByName("rivals").Elem().FieldByName("place").FieldByName("gift").Int()
		}
	}
	return view
}

// line is the line, with the leases of its places.
func (t *trace) line() fields {
	line, members := t.s.line(), t.s.do("ZRANGE", scripts.LineKey(nameOf(0)), "0", "-1", "WITHSCORES").Array
	places := line["places"].([]fields)
	for ; len(members) > 0; members = members[2:] {
		owner, _, _ := strings.Cut(members[0].Str, " ")
		if !slices.ContainsFunc(t.s.engines, func(e *engine) bool { _, mine := e.numberOf(owner); return mine }) {
			continue // the line tells of no such place
		}
		score, err := strconv.ParseFloat(members[1].Str, 64)
		if err != nil {
			panic(err)
		}
		places[0]["lease"] = int64((score - math.Floor(score)) * giftUnit * 1e6)
		places = places[1:]
	}
	return line
}

// giftUnit is UNIT in scripts/line.lua.
const giftUnit = 1 << 14

// tracedWorlds are of one mutex without what the specification leaves out: re-entry, Extend, ForceUnlock, and lines beside
// outsiders.
var tracedWorlds = []*World{
	besideBig(2, traced("traced mutex", allFaults[:slices.Index(allFaults, Die)], Lock, LockFixed, TryLock, TryFixed, Drop)),
	besideBig(2, traced("traced mutex that closes", allFaults, Lock, Lock, LockFixed, LockFixed, TryLock, TryFixed, Close)),
	tracedLine("traced line", withoutFaults(Die, OpenSlot), Lock, Lock, LockFixed, TryLock, Drop, DropFirst),
	tracedLine("traced line that closes", withoutFaults(OpenSlot), Lock, Lock, Lock, LockFixed, TryFixed, Close),
	faulty(12, []*World{tracedLine("traced line, answers lost", []Fault{Break, LoseMessage, Delay}, Lock, Lock, Lock, Drop)})[0],
}

func traced(name string, faults []Fault, calls ...Call) *World {
	return &World{
		Name: name, Kind: gate.MutexKind, Engines: 2, Names: 1, Handoff: 10 * time.Millisecond, EveryOrder: true,
		Calls: calls, Faults: faults, MostCalls: 20, MostFaults: 6, MostTicks: 30,
	}
}

// tracedLine is a world of three engines that stand in line, of which one believes no message.
func tracedLine(name string, faults []Fault, calls ...Call) *World {
	w := givenTo(2, traced(name, faults, calls...))
	w.Engines = specEngines
	return w
}

// withoutFaults are all faults but these.
func withoutFaults(but ...Fault) []Fault {
	return slices.DeleteFunc(slices.Clone(allFaults), func(f Fault) bool { return slices.Contains(but, f) })
}
