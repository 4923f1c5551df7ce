package explore

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// What must be true of the lines in which engines wait for locks (scripts/line.lua).

// lined reports whether waiting engines stand in line.
func (s *state) lined() bool {
	return s.w.Kind == gate.MutexKind || s.w.Kind == gate.FencedKind || s.w.Kind == gate.RWKind || s.w.Kind == gate.SimpleKind
}

// place is a place in a line: whose, and by which code it is told that it was given the lock; 1: by none; 0: by none, and it wants to read.
type place struct {
	owner string
	code  string
	told  bool // a reader's, which was told of a free lock before
}

// inLine is the line for a name.
func (s *state) inLine(name int) (places []place) {
	members := s.do("ZRANGE", scripts.LineKey(nameOf(name)), "0", "-1", "WITHSCORES").Array
	for i := 0; i+1 < len(members); i += 2 {
		if owner, code, ok := strings.Cut(members[i].Str, " "); ok {
			places = append(places, place{owner, code, code == "0" && strings.Contains(members[i+1].Str, ".")})
		}
	}
	return places
}

// inbox is the channel of the messages about a name that are for the engine of a place alone.
func (s *state) inbox(p place, name int) string {
	engine, _, _ := strings.Cut(p.owner, ":")
	channel := scripts.LockChannel(nameOf(name))
	if s.w.Kind == gate.RWKind {
		channel = scripts.RWChannel(nameOf(name))
	}
	return scripts.Inbox(channel, engine)
}

// heard reports whether its engine hears messages.
func (s *state) hears(p place, name int) bool { return len(s.listeners(s.inbox(p, name), false)) > 0 }

// checkLine: who frees a lock gives it to the first in its line whose engine hears that, or tells that one, by one message. Nobody else is
// told, but for the readers behind a reader. The first place is removed before if it is a reader's that was told.
func (s *state) checkLine(f *flight, before []keyLease, said []message) {
	if !s.lined() {
		return
	}
	for name := range s.w.Names {
		owners := make(map[string]bool)
		for _, p := range s.inLine(name) {
			if owners[p.owner] {
				s.violate("one-place-each", "%v of %s leaves two places of %s in line: %v", f.Op, nameOf(name), p.owner, s.inLine(name))
			}
			owners[p.owner] = true
		}
		if line := scripts.LineKey(nameOf(name)); s.refusing == faults && s.do("PTTL", line).Int == -1 {
			s.violate("lines-end", "%v of %s leaves its line without an end: %v", f.Op, nameOf(name), s.do("ZRANGE", line, "0", "-1"))
		}
	}
	if s.refusing != faults || !gate.Operations[f.Op].Releases() || f.Op == gate.Detach || f.Op == gate.DetachSimple || s.engines[f.by].outside {
		return
	}
	for i, was := range before {
		if nameOf(i) != f.Entry.Name || len(was.fields) == 0 {
			continue
		}
		owner, told := s.ownerOf(i), 0
		if slices.Contains(was.fields, owner) {
			continue // it was another's
		}
		if len(was.line) > 0 && was.line[0].owner == f.field(s) {
			was.line = was.line[1:]
		}
		if len(was.line) > 0 && was.line[0].told { // its engine may be stopped
			was.line = was.line[1:]
		}
		first := slices.IndexFunc(was.line, func(p place) bool { return p.owner != f.field(s) && s.hears(p, i) })
		reads := first >= 0
		for at, p := range was.line {
			heard := slices.ContainsFunc(said, func(m message) bool { return m.channel == s.inbox(p, i) })
			reads = reads && (at < first || p.code == "0")
			switch {
			case heard && s.hears(p, i) && (first < 0 || !reads && s.inbox(p, i) != s.inbox(was.line[first], i)):
				s.violate("line-order", "%v of %s tells %s, who is not the first in line", f.Op, nameOf(i), p.owner)
			case heard && s.hears(p, i):
				told++
			}
		}
		switch {
		case owner != "" && (first < 0 || was.line[first].owner != owner):
			s.violate("line-order", "%v of %s gives it to %s, who is not the first in line", f.Op, nameOf(i), owner)
		case first >= 0 && told == 0:
			s.violate("line-order", "%v frees %s, and tells nobody though %s is the first in line", f.Op, nameOf(i), was.line[first].owner)
		}
	}
}

// field is the owner field that a release frees.
func (f *flight) field(s *state) string {
	if owner := f.Args.Release().Owner; owner != "" {
		return owner
	}
	if f.Op == gate.ReleaseWrite || f.Op == gate.ReleaseWriteFromLine {
		return s.engines[f.by].ownerField(f.ID) + gate.WriterSuffix
	}
	return s.engines[f.by].ownerField(f.ID)
}

// publishedCodes notes the codes that scripts publish.
func (s *state) publishedCodes(said []message) {
	for _, m := range said {
		if n, is := saidCode(m); is {
			s.gave[n]++
		}
	}
}

// saidCode is the code in a message: of a claim, or behind a - of a place.
func saidCode(m message) (code uint64, is bool) {
	code, err := strconv.ParseUint(strings.TrimPrefix(m.text, "-"), 10, 64)
	return code, err == nil && isCode(code)
}

// checkGiven: a code by which an engine takes a lock was published once. A failover may bring the place back, with its code.
func (s *state) checkGiven(e *engine, news []message, granted int) {
	if s.destroyed || s.grants(e) == granted {
		return
	}
	for _, m := range news {
		if n, is := saidCode(m); is && s.gave[n] > 1 {
			if by, _ := ownerOfCode(n); by == e.number {
				s.violate("a-code-counts-once", "%v takes %s by code %d, which was published %d times", e, m.channel, n, s.gave[n])
			}
		}
	}
}

// grants is how many callers of an engine were granted what they wanted.
func (s *state) grants(e *engine) (n int) {
	for _, c := range s.callers {
		if c.e == e && c.settled && c.out.Why == gate.Granted {
			n++
		}
	}
	return n
}

// hashCodes takes how often the codes were published by which an engine may still be given a lock.
func (h *hasher) hashCodes(s *state) {
	met := h.ids
	for _, code := range slices.Sorted(maps.Keys(s.gave)) {
		engine, n := ownerOfCode(code)
		if n < claimNumbers && slices.ContainsFunc(met, func(id idAt) bool { return id.engine == engine && id.id == n }) {
			h.code(code)
			h.number(uint64(min(s.gave[code], 2)))
		}
	}
}

// atRest reports whether everything works, and nothing is on its way or due.
func (s *state) atRest() bool {
	return s.refusing == faults && len(s.strays) == 0 && !s.pendingOrDue() &&
		!slices.ContainsFunc(s.engines, func(e *engine) bool { return !e.dead && (!e.works() || len(e.flights) > 0 || len(e.mail) > 0) })
}

// checkLines: when nothing is on its way, somebody asks soon for a lock that is free, and no engine stands in a line without a caller
// that waits. Not so after what nobody can know of: a message that was lost, data that was lost, a copy of a command; nor for an owner that
// was forced off, as long as its engine believes that it has the lock.
func (s *state) checkLines() {
	if !s.lined() || s.destroyed || s.unheard || s.surprised || !s.atRest() {
		return
	}
	for name := range s.w.Names {
		s.checkWaitersOf(name)
		for _, p := range s.inLine(name) {
			for _, e := range s.engines {
				number, ours := e.numberOf(p.owner)
				if ours && !e.dead && s.waiting(e, name) == nil && !slices.Contains(e.forced, number) && !slices.ContainsFunc(e.orphans(name), func(o orphan) bool { return o.id == number }) {
					s.violate("no-place-of-nobody", "%s stands in line for %s, and nobody waits there", p.owner, nameOf(name))
				}
			}
		}
	}
}

// checkWaitersOf: somebody asks soon for a lock that is free, or leaves the line for it.
func (s *state) checkWaitersOf(name int) {
	if s.ownerOf(name) != "" {
		return
	}
	next, waits := int64(never), false
	for _, c := range s.callers {
		if c.waitsForRedis() && c.name == name {
			waits = true
			next = min(next, c.e.truth(c.waiter.Entry.Machine.NextAlarm()))
		}
	}
	for _, e := range s.engines { // or leaves the line, and the next one is told
		for _, o := range e.orphans(name) {
			next = min(next, e.truth(o.at))
		}
	}
	if waits && next-s.now > longestSleep {
		s.violate("nobody-sleeps-beside-a-free-lock", "%s is free, and the first of its waiters asks in %v", nameOf(name), time.Duration(next-s.now))
	}
}

// orphan is a tenure that is to be released although it may not be in Redis.
type orphan struct {
	id uint64
	at gate.Time
}

// orphans are those of a name, by the names of the fields of its gate.
func (e *engine) orphans(name int) (all []orphan) {
	if e.dead || e.cells[name] == nil {
		return nil
	}
	lock := reflect.ValueOf(e.cells[name].Machine).Elem()
	known := lock.FieldByName("contest").Elem().FieldByName("rivals").Elem().FieldByName("orphans")
	for i := range known.Len() {
		o := known.Index(i)
		all = append(all, orphan{o.FieldByName("id").Uint(), gate.Time(o.FieldByName("at").Int())})
	}
	return all
}
