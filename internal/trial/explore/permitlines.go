package explore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// What must be true of the lines in which engines wait for permits (scripts/called.lua).

// callTime is for how long nobody else takes permits after a place was called: CALL of called.lua, in ms.
const callTime = 200

// permitPlace is a place in a line for permits.
type permitPlace struct {
	engine   string // its UUID
	permits  int64  // how many it is for
	calledAt int64  // the server's time in ms; 0: it is not called
}

// hasPermitLine reports whether waiting engines stand in line for permits.
func (s *state) hasPermitLine() bool {
	return s.w.Kind == gate.SemaphoreKind || s.w.Kind == gate.PermitKind
}

// permitLine is the line for the permits of a name.
func (s *state) permitLine(name int) (places []permitPlace) {
	all := s.do("ZRANGE", scripts.LineKey(nameOf(name)), "0", "-1", "WITHSCORES").Array
	for i := 0; i+1 < len(all); i += 2 {
		engine, rest, ok := strings.Cut(all[i].Str, ":")
		if !ok { // it says since when others are expected
			continue
		}
		permits, _ := strconv.ParseInt(strings.TrimSuffix(rest, " 1"), 10, 64)
		score, _ := strconv.ParseInt(all[i+1].Str, 10, 64)
		places = append(places, permitPlace{engine, permits, max(-score, 0)})
	}
	return places
}

// calledPlace is the place that is called now, and nobody else takes permits; nil: there is none.
func (s *state) calledPlace(name int) *permitPlace {
	line, now := s.permitLine(name), s.serverMicros()/1000
	if len(line) == 0 || line[0].calledAt == 0 || now < line[0].calledAt || now >= line[0].calledAt+callTime {
		return nil
	}
	return &line[0]
}

// permitsFree is how many permits of a name are free, as Redis counts them.
func (s *state) permitsFree(name int) int64 {
	n, _ := strconv.ParseInt(s.do("GET", nameOf(name)).Str, 10, 64)
	return n
}

// permitsHeld is how many permits of a name are held, those that are over among them.
func (s *state) permitsHeld(name int) int64 {
	return s.do("ZCARD", scripts.PermitsKey(nameOf(name))).Int
}

// permitsBefore is what stands of a name before a script runs.
type permitsBefore struct {
	called     *permitPlace
	free, held int64
}

// allPermits are those of all names.
func (s *state) allPermits() []permitsBefore {
	if !s.hasPermitLine() {
		return nil
	}
	all := make([]permitsBefore, s.w.Names)
	for i := range all {
		all[i] = permitsBefore{s.calledPlace(i), s.permitsFree(i), s.permitsHeld(i)}
	}
	return all
}

// checkPermitLine: while a place is called nobody else takes permits, and the line ends by itself.
func (s *state) checkPermitLine(f *flight, before []permitsBefore) {
	if !s.hasPermitLine() || s.refusing != faults {
		return
	}
	for name, was := range before {
		if nameOf(name) != f.Entry.Name {
			continue
		}
		if line := scripts.LineKey(nameOf(name)); s.do("PTTL", line).Int == -1 {
			s.violate("lines-end", "%v of %s leaves its line without an end: %v", f.Op, nameOf(name), s.do("ZRANGE", line, "0", "-1"))
		}
		e := s.engines[f.by]
		takes := s.permitsFree(name) < was.free
		if limitOf(&f.Command) != 0 { // it may only have made them fewer
			takes = s.permitsHeld(name) > was.held
		}
		if was.called != nil && was.called.engine != e.uuid && !e.outside && takes {
			s.violate("line-order", "%v takes permits of %s, for which %s is called", e, nameOf(name), was.called.engine)
		}
	}
}

// limitOf is how many permits a command says that there are; 0: it says nothing.
func limitOf(c *gate.Command) int64 {
	if c.Op != gate.PermitTake {
		return 0
	}
	_, digits, _ := strings.Cut(string(c.Args.Take().Runs), "/")
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// checkLimit: a call with a limit that takes permits leaves so many, with those that are held, and no more of them are held.
func (s *state) checkLimit(f *flight, before []permitsBefore) {
	n := limitOf(&f.Command)
	if n == 0 || s.refusing != faults {
		return
	}
	for name, was := range before {
		if nameOf(name) != f.Entry.Name {
			continue
		}
		if free, held := s.permitsFree(name), s.permitsHeld(name); held > was.held && (held > n || free+held != n) {
			s.violate("limit-counts-all-holds", "a limit of %d leaves %d permits free and %d held", n, free, held)
		}
	}
}

// leaves reports whether a command gives up a place in line for permits.
func leaves(c *gate.Command) bool {
	t := c.Args.Take()
	return (c.Op == gate.Take || c.Op == gate.PermitTake) && t.Runs == ""
}

// hearsOfPlaces notes a place that could not be given up: its engine forgets it, and it goes when nobody hears its inbox.
func (s *state) hearsOfPlaces(c *gate.Command) {
	if leaves(c) && (c.Result != gate.Answered || c.Reply.Fault() != scripts.None) {
		s.leftBehind = true
	}
}

// checkPermitLines: when nothing is on its way, somebody asks soon for permits that are enough for the first waiter of an engine, and each
// place is of an engine in which somebody waits. Not so after what nobody can know of, as for mutexes.
func (s *state) checkPermitLines() {
	if !s.hasPermitLine() || s.destroyed || s.unheard || s.surprised || !s.atRest() {
		return
	}
	for name := range s.w.Names {
		s.checkPermitWaiters(name)
		seen := make(map[string]bool)
		for _, p := range s.permitLine(name) {
			at := slices.IndexFunc(s.engines, func(e *engine) bool { return e.uuid == p.engine && !e.dead })
			if at < 0 || s.leftBehind || len(s.listeners(scripts.Inbox(scripts.SemaphoreChannel(nameOf(name)), p.engine), false)) == 0 {
				continue
			}
			if s.waiting(s.engines[at], name) == nil {
				s.violate("no-place-of-nobody", "%v stands in line for %d of %s, and nobody waits there", s.engines[at], p.permits, nameOf(name))
			}
			if seen[p.engine] {
				s.violate("no-place-of-nobody", "%v stands in line for %s twice", s.engines[at], nameOf(name))
			}
			seen[p.engine] = true
		}
	}
}

// checkPermitWaiters: somebody asks soon for permits that are enough for the first waiter of an engine.
func (s *state) checkPermitWaiters(name int) {
	free, next, waits := s.permitsFree(name), int64(never), false
	for _, e := range s.engines {
		if c := s.waitingFirst(e, name); c != nil && !e.dead {
			waits = waits || c.kept.n <= free
			next = min(next, e.truth(c.waiter.Entry.Machine.NextAlarm()))
		}
	}
	if waits && next-s.now > longestSleep {
		s.violate("nobody-sleeps-beside-a-free-lock", "%d permits of %s are free, and the first of its waiters asks in %v", free, nameOf(name), time.Duration(next-s.now))
	}
}
