package explore

import (
	"fmt"
	"math"
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redismodel"
)

const never = math.MaxInt64

// state is a world at one moment.
type state struct {
	w       *World
	now     int64 // true time in ns since the world began
	server  *redismodel.Server
	engines []*engine
	callers []*caller
	strays  []*flight // commands whose connection broke, or that will run twice: they run at any time, or never

	subscribers []map[string]bool // by engine: the channels that the server sends to it
	refusing    Fault             // what the server refuses writes with; faults: it is well
	history     []redismodel.Snapshot

	calls, faults, ticks int // how many there were
	age                  age // how many calls, unlocks and ticks there were
	refusedAt            age // when the server began to refuse writes

	tape *tape
	log  *[]string // what happens, in words; nil: nobody reads it

	destroyed  bool  // data was
	surprised  bool  // a command ran that had run before, or that could do nothing any more if it were an acquire; or one left a place in line alone whose owner it took or freed
	unheard    bool  // a message was lost, an answer was late, or an engine died that stood in a queue
	leftBehind bool  // a place in line for permits could not be given up
	token      int64 // the last fencing token that was given
	counted    counts

	sayings   []message      // what a publisher can say
	announced int64          // the last negative number that it has heard, without the sign; 0: none
	published int            // how much it has said
	gave      map[uint64]int // how often scripts have published each code
	made      []int64        // the last tokens of the blocks that scripts have made, of a fenced mutex
}

// age is a time that is counted in calls, unlocks and ticks.
type age int

// noAge is the age of nothing.
const noAge age = -1 << 30

// tape keeps what scripts answered along a path, so that the path can be played again without running them.
type tape struct {
	records []record
	at      int
}

type record struct {
	answer   redismodel.Value
	after    redismodel.Snapshot
	messages []message
}

// violation is an invariant that does not hold. A state panics with it.
type violation struct {
	invariant string
	text      string
}

func (v violation) Error() string { return v.invariant + ": " + v.text }

func newState(w *World, in *redismodel.Interpreter, t *tape, log *[]string) *state {
	s := &state{w: w, server: redismodel.New(in), tape: t, log: log, refusing: faults, gave: make(map[uint64]int)}
	s.server.Micros = s.serverMicros()
	s.server.Subscribers = func(channel string, sharded bool) int { return len(s.listeners(channel, sharded)) }
	for range w.Engines {
		s.subscribers = append(s.subscribers, make(map[string]bool))
	}
	for i := range w.Engines {
		s.engines = append(s.engines, newEngine(s, i))
	}
	s.begin()
	return s
}

func (s *state) serverMicros() int64 { return serverEpoch + s.now/1000 }

func (s *state) note(format string, args ...any) {
	if s.log != nil {
		*s.log = append(*s.log, fmt.Sprintf(format, args...))
	}
}

func (s *state) violate(invariant, format string, args ...any) {
	panic(violation{invariant, fmt.Sprintf(format, args...)})
}

func (s *state) listeners(channel string, sharded bool) []*engine {
	var all []*engine
	for i, e := range s.engines {
		if !sharded && s.subscribers[i][channel] {
			all = append(all, e)
		}
	}
	return all
}

// do runs one command of somebody who is not an engine.
func (s *state) do(args ...string) redismodel.Value {
	s.server.Micros = s.serverMicros()
	return s.server.Do(args...)
}

// run runs a command of an engine in Redis, in a wide call with all that left in it.
func (s *state) run(f *flight) {
	if all := s.together(f); len(all) > 1 {
		s.runTogether(all)
		return
	}
	if s.isOpen(f) && f.severalKeys() {
		s.note("      redis does not run %v %s: its keys are apart", f.Op, describe(f))
		s.surprised = true
		s.unheard = true // the first in line is not told
		if s.engines[f.by].leavesLine(f); f.severalKeys() {
			f.ran, f.apart = true, true
			return
		}
		s.unheard = true // nobody in line is told of what is released without it
	}
	// The first in line does not listen while an engine has the lock: what an outsider frees by force it finds out by asking.
	s.unheard = s.unheard || s.engines[f.by].outside && f.Args.Release().Owner != ""
	s.leftBehind = s.leftBehind || s.refusing != faults && f.PermitsPlace() != 0
	r := s.eval(f.encoded, f)
	if r.answer.Kind != redismodel.Int {
		s.violate("scripts-answer", "%v answered %v", f.Op, r.answer)
	}
	f.ran, f.answer = true, r.answer.Int
	if s.log != nil {
		s.note("      redis runs %v %s: %d", f.Op, describe(f), f.answer)
	}
	s.spread(r.messages)
}

// spread brings what was published to those who listen.
func (s *state) spread(messages []message) {
	s.publishedCodes(messages)
	for _, m := range messages {
		for _, e := range s.listeners(m.channel, false) {
			if !e.dead {
				e.messages = append(e.messages, m)
			}
		}
		s.overhears(m)
	}
}

// eval has the server run a call of some commands.
func (s *state) eval(call encoded, of ...*flight) record {
	if s.w.Kind == gate.FencedKind {
		defer s.makes()
	}
	if t := s.tape; t != nil && t.at < len(t.records) {
		r := t.records[t.at]
		t.at++
		s.remember()
		s.server.Restore(r.after)
		return r
	}
	before, permits := s.leases(), s.allPermits()
	r := record{}
	s.server.Micros = s.serverMicros()
	s.server.Publish = func(channel, text string, _ bool) { r.messages = append(r.messages, message{channel, text}) }
	if s.refusing != faults {
		s.server.Refuse(refusals[s.refusing], 0)
	}
	s.remember()
	r.answer = s.server.Eval(string(call.text), call.keys, call.args)
	s.server.Refuse("", 0)
	r.after = s.server.Snapshot()
	for _, f := range of {
		s.checkLeases(f, before)
		s.checkTurn(f, before)
		s.checkWoken(f, before, r.messages)
		s.checkLine(f, before, r.messages)
		s.checkPermitLine(f, permits)
		s.checkLimit(f, permits)
	}
	if s.tape != nil {
		s.tape.records = append(s.tape.records, r)
		s.tape.at++
	}
	return r
}

// remember keeps what a replica may lack.
func (s *state) remember() {
	s.history = append(s.history, s.server.Snapshot())
	if len(s.history) > 2 {
		s.history = s.history[1:]
	}
}

// lose ends every promise about holds whose keys were destroyed behind everybody's back, and about what is on its way for
// the same tenures.
func (s *state) lose() {
	s.counted.unknown, s.destroyed = true, true
	for _, e := range s.engines {
		e.lossy = e.cfg.LastID
	}
}

// ages counts what callers do and the steps of time. A stray that has not arrived for long enough never does.
func (s *state) ages() {
	s.age++
	if s.w.Patience > 0 {
		s.strays = slices.DeleteFunc(s.strays, func(f *flight) bool { return s.overdue(f.since) })
	}
}

// overdue reports whether what failed at an age must work again.
func (s *state) overdue(since age) bool { return s.w.Patience > 0 && s.age-since >= age(s.w.Patience) }

// nextInstant is the next true time at which time alone changes something; never: there is none.
func (s *state) nextInstant() int64 {
	at := int64(never)
	soon := func(t int64) {
		if t > s.now {
			at = min(at, t)
		}
	}
	for _, e := range s.engines {
		if !e.dead && !e.paused {
			soon(e.nextAlarm())
		}
	}
	for _, c := range s.callers {
		if c.holds() {
			soon(c.e.truth(c.hold.Deadline()))
		}
	}
	for _, f := range s.strays {
		soon(f.late)
	}
	for _, key := range s.server.Keys() {
		if v := s.do("PTTL", key); v.Int >= 0 {
			soon((s.now/1e6 + v.Int + 1) * 1e6)
		}
	}
	return at
}

// pass moves true time. A probe is answered soon, or not at all: a link that broke before is down then. Who hears late what was left of
// a lease sleeps for as long as if it had just been said.
func (s *state) pass(at int64) {
	s.now = at
	s.server.Micros = s.serverMicros()
	for _, e := range s.engines {
		if e.link == linkBroken && !e.dead {
			e.link = linkDown
			e.post(nil, "no connection can be made", e.endFast)
		}
		s.unheard = s.unheard || len(e.mail) > 0 || slices.ContainsFunc(e.flights, func(f *flight) bool { return f.ran })
	}
}

// granted is a caller that got what it wanted.
func (s *state) granted(c *caller) {
	s.checkReleased(c.e, c.hold.Entry, c.hold.Tenure, "a grant")
	if s.w.Kind == gate.FencedKind {
		s.checkMade(c)
		s.checkToken(c)
	}
	s.counted.granted(s, c)
}

func (s *state) acknowledged(a *ack) { s.counted.acknowledged(s, a) }
