package explore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/judge"
	"github.com/wheellock/wheellock/scripts"
)

// check holds every invariant against the state, on true time.
func (s *state) check() {
	s.checkEnds()
	for i, c := range s.callers {
		s.checkStay(c)
		if c.e.crashed {
			continue // nobody runs there who could believe anything
		}
		s.checkFast(c)
		if !c.holds() {
			continue
		}
		s.checkKey(c)
		for _, other := range s.callers[:i] {
			if other.holds() && !other.e.crashed {
				s.checkExclusion(other, c)
			}
		}
	}
	s.checkKnown()
	s.checkLines()
	s.checkPermitLines()
	s.counted.check(s)
}

// checkFast: nobody who fails fast waits while the loop knows that the link is down.
func (s *state) checkFast(c *caller) {
	if e := c.e; c.kept.fast && !c.settled && c.waiter.Entry != nil && e.link == linkDown && !e.paused && len(e.mail) == 0 {
		s.violate("fails-fast", "%v waits while the link of %v is down", c, e)
	}
}

// checkEnds: a hold that was over once is over.
func (s *state) checkEnds() {
	for _, c := range s.callers {
		if !c.e.crashed {
			s.checkFinal(c)
		}
	}
}

func (s *state) checkFinal(c *caller) {
	held := c.settled && c.out.Why == gate.Granted && c.waitsForLock()
	switch {
	case !held:
	case c.invalid && c.holds():
		s.violate("loss-is-final", "the hold of %v was over, and is valid again", c)
	case !c.holds():
		c.invalid = true
	}
}

// checkStay: a name stays taken for its least time, whatever becomes of who asked for it. So its key stands for as long at any moment,
// for an engine may die at any moment.
func (s *state) checkStay(c *caller) {
	if s.destroyed || c.isLossy() || c.e.now() >= c.stays {
		return
	}
	if ttl := s.do("PTTL", nameOf(c.name)).Int; ttl != -1 && time.Duration(ttl+1)*time.Millisecond < c.stays-c.e.now() {
		s.violate("detached-name-stays", "the key of %s stands for %d ms, and the least time of %v for %v", nameOf(c.name), ttl, c, c.stays-c.e.now())
	}
}

// checkAdoption: who wants the place of a holder at its own engine is not told that nobody has the lock under that owner any more, while
// it stands in Redis.
func (s *state) checkAdoption(c *caller) {
	if c.adopts != "" && !s.surprised && s.ownerOf(c.name) == c.adopts {
		s.violate("detached-name-stays", "%v is told that nobody has %s as %s, who stands in Redis", c, nameOf(c.name), c.adopts)
	}
}

// mostApart is how often a command of a mutex may meet keys apart before its engine takes the way by one key.
const mostApart = 2

// checkWayOut: a mutex or a simple lock has one key, so whoever releases or takes it gets on while its hash slot is open. A fenced one is
// released so; for tokens it needs two.
func (s *state) checkWayOut(f *flight) {
	switch s.w.Kind {
	case gate.MutexKind, gate.SimpleKind:
	case gate.FencedKind:
		if f.Op != gate.Release && f.Op != gate.ReleaseFromLine {
			return
		}
	default:
		return
	}
	e := s.engines[f.by]
	e.apart[f.Entry.Name]++
	if n := e.apart[f.Entry.Name]; n > mostApart {
		s.violate("command-follows-its-slot", "%v has asked for %s %d times by several keys while they are apart, last by %v", e, f.Entry.Name, n, f.Op)
	}
}

// checkExclusion: two holds that exclude each other are never both valid.
func (s *state) checkExclusion(a, b *caller) {
	if a.name != b.name || s.w.Kind == gate.PermitKind || a.isLossy() || b.isLossy() {
		return
	}
	if !judge.Excludes(0, a, b) {
		return
	}
	s.violate("exclusion", "%v and %v hold %s at the same time", a, b, nameOf(a.name))
}

// Judged is the call as package judge sees it.
func (c *caller) Judged() judge.Call {
	call := judge.Call{Shared: c.s.w.Kind == gate.RWKind && !c.kept.write}
	if c.kept.owner != 0 {
		call.Owner = [2]any{c.e, c.kept.owner}
	}
	return call
}

func (c *caller) isLossy() bool {
	return c.lossy || c.hold.Tenure <= c.e.lossy || slices.Contains(c.e.forced, c.hold.Tenure)
}

// forced ends the promise to those who hold under an owner that is forced off. Whom its own engine forces off, nobody has afterwards.
func (s *state) forced(by *engine, owner string) {
	for _, e := range s.engines {
		number, ours := e.numberOf(owner)
		if !ours {
			continue
		}
		if e != by {
			e.forced = append(e.forced, number)
			continue
		}
		for _, c := range s.callers {
			c.lossy = c.lossy || c.e == e && c.settled && c.hold.Tenure == number
		}
	}
}

// numberOf is that of a tenure of this engine, out of an owner field, also of one that only keeps a name taken.
func (e *engine) numberOf(owner string) (n uint64, ours bool) {
	digits, ours := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(owner, gate.WriterSuffix), gate.DetachedSuffix), e.uuid+":")
	if e.s.w.Kind == gate.SimpleKind {
		digits = strings.TrimSuffix(digits, ":")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ours && err == nil
}

// checkKey: the deadline of a hold is never after the end of its key.
func (s *state) checkKey(c *caller) {
	if c.isLossy() {
		return
	}
	if s.w.Kind == gate.PermitKind {
		s.checkPermits(c)
		return
	}
	name := nameOf(c.name)
	if !s.has(name, c.field()) && !s.has(name, c.field()+gate.WriterSuffix) { // a writer's own read
		s.violate("holds-have-keys", "%v holds %s, but %s does not stand in Redis", c, name, c.field())
	}
	ttl := s.do("PTTL", name).Int
	if ends := (s.now/1e6 + ttl + 1) * 1e6; ttl >= 0 && ends < c.e.truth(c.hold.Deadline()) {
		s.violate("deadline-before-expiry", "%v holds %s for %v ms, its key stands for %d ms", c, name, (c.e.truth(c.hold.Deadline())-s.now)/1e6, ttl)
	}
}

// checkPermits: every permit of a hold is in the sorted set, with a score that is not before the hold's deadline.
func (s *state) checkPermits(c *caller) {
	for i := range uint64(c.kept.n) {
		score := s.do("ZSCORE", scripts.PermitsKey(nameOf(c.name)), string(scripts.PermitID(c.e.uuid, c.hold.Tenure+i)))
		millis, err := strconv.ParseInt(score.Str, 10, 64)
		if err != nil {
			s.violate("holds-have-keys", "%v holds permit %d of %s, which is not in Redis", c, i, nameOf(c.name))
		}
		if ends := (millis*1000 - serverEpoch) * 1000; ends+1e6 < c.e.truth(c.hold.Deadline()) {
			s.violate("deadline-before-expiry", "%v holds permit %d for %v ms, in Redis it ends in %d ms", c, i, (c.e.truth(c.hold.Deadline())-s.now)/1e6, (ends-s.now)/1e6)
		}
	}
}

// keyLease is a key of a lock before a script runs.
type keyLease struct {
	fields []string
	ttl    int64
	queue  []string // of a fair lock
	line   []place
}

// leases reads the keys of locks before a script runs.
func (s *state) leases() []keyLease {
	if s.w.Kind > gate.FairKind && s.w.Kind != gate.RWKind && s.w.Kind != gate.SimpleKind {
		return nil
	}
	all := make([]keyLease, s.w.Names)
	for i := range all {
		all[i].fields = s.owners(nameOf(i))
		if s.w.Kind != gate.RWKind { // a reader that leaves may lower it
			all[i].ttl = s.do("PTTL", nameOf(i)).Int
		}
		if s.lined() {
			all[i].line = s.inLine(i)
		}
		if s.w.Kind == gate.FairKind {
			for _, v := range s.do("LRANGE", scripts.FairQueue(nameOf(i)), "0", "-1").Array {
				all[i].queue = append(all[i].queue, v.Str)
			}
		}
	}
	return all
}

// checkLeases: no script lowers the TTL of an owner already present.
func (s *state) checkLeases(f *flight, before []keyLease) {
	for i, k := range s.leases() {
		for _, field := range k.fields {
			if slices.Contains(before[i].fields, field) && k.ttl < before[i].ttl {
				s.violate("no-lower-ttl", "%v of %s lowers the TTL of %s from %d to %d", f.Op, nameOf(i), field, before[i].ttl, k.ttl)
			}
		}
	}
}

// checkTurn: nobody is let in from the queue of a fair lock who stands behind one of another engine that lives. Its own engine may
// have given that one up, and a server that refuses writes keeps no order.
func (s *state) checkTurn(f *flight, before []keyLease) {
	if f.Op != gate.FairAsk && f.Op != gate.FairRelease && f.Op != gate.FairLeave || s.refusing != faults {
		return
	}
	for i, was := range before {
		owner := s.ownerOf(i)
		if slices.Contains(was.fields, owner) || slices.Index(was.queue, owner) < 1 {
			continue
		}
		engine, _, _ := strings.Cut(was.queue[0], ":")
		lives, _ := strconv.ParseInt(s.do("ZSCORE", scripts.FairAlive(nameOf(i)), engine).Str, 10, 64)
		if !strings.HasPrefix(owner, engine) && engine != s.engines[f.by].uuid && lives*1000 > s.serverMicros() {
			s.violate("fair-queue-order", "%v of %s lets %s in before %s", f.Op, nameOf(i), owner, was.queue[0])
		}
	}
}

// checkWoken: who frees a fair lock wakes the head of its queue, or has given it the lock.
func (s *state) checkWoken(f *flight, before []keyLease, said []message) {
	if s.w.Kind != gate.FairKind || s.refusing != faults {
		return
	}
	for i, now := range s.leases() {
		if len(before[i].fields) == 0 || len(now.fields) > 0 || len(now.queue) == 0 {
			continue
		}
		channel := scripts.FairChannel(nameOf(i), now.queue[0])
		if !slices.ContainsFunc(said, func(m message) bool { return m.channel == channel }) {
			s.violate("fair-queue-order", "%v frees %s, and wakes nobody though %s is first in its queue", f.Op, nameOf(i), now.queue[0])
		}
	}
}

// checkToken: tokens grow from grant to grant; a re-entry has that of its tenure. A hold that is over when it is handed out, by a
// loop that has stood still, may have an older one: against that there are tokens.
func (s *state) checkToken(c *caller) {
	if !c.holds() {
		return
	}
	for _, other := range s.callers {
		if other == c || other.e != c.e || other.name != c.name || other.hold.Tenure != c.hold.Tenure {
			continue
		}
		same := other.hold.Token == c.hold.Token
		switch leaves := other.release != nil && !other.release.settled; {
		case other.hasHold() && !same:
			s.violate("tokens-grow", "%v re-entered with token %d, not %d", c, c.hold.Token, other.hold.Token)
		case same && (other.hasHold() || leaves && other.kept.owner != 0): // its Unlock has not reached the loop yet
			return
		}
	}
	if c.hold.Token <= s.token && c.name == 0 && !c.isLossy() {
		s.violate("tokens-grow", "%v was given token %d after %d", c, c.hold.Token, s.token)
	}
	if c.name == 0 {
		s.token = max(s.token, c.hold.Token)
	}
}

// checkCommand: holders hear of the end of their holds before the release is asked for, and one command of a name is on
// its way.
func (s *state) checkCommand(e *engine, c *gate.Command) {
	if slices.ContainsFunc(e.flights, func(f *flight) bool { return f.Entry == c.Entry }) ||
		slices.ContainsFunc(e.outbox, func(other gate.Command) bool { return other.Entry == c.Entry }) {
		s.violate("one-command-per-name", "%v: %v of %s while another command is on its way", e, c.Op, c.Entry.Name)
	}
	owner := e.ownerField(c.ID)
	switch {
	case (c.Op == gate.ReleaseWrite || c.Op == gate.ReleaseWriteFromLine) && s.has(c.Entry.Name, owner) && !s.has(c.Entry.Name, owner+gate.WriterSuffix):
		return // it reads, and the writer that it was may come back
	case gate.Operations[c.Op].Releases():
	case c.Op == gate.FairLeave: // of places that may come back
		return
	default:
		s.checkReleased(e, c.Entry, c.ID, c.Op.String())
		return
	}
	if i := slices.Index(e.cells, c.Entry); c.ID != 0 && !slices.Contains(e.released[i], c.ID) {
		e.released[i] = append(e.released[i], c.ID)
	}
	for _, holder := range s.callers {
		if holder.e == e && holder.hold.Entry == c.Entry && holder.hold.Tenure == c.ID && holder.holds() {
			s.violate("told-before-release", "%v: %v %d was asked for while %v holds it", e, c.Op, c.ID, holder)
		}
	}
}

// checkReleased: an owner whose release was asked for is never used again.
func (s *state) checkReleased(e *engine, of *gate.Entry, id uint64, use string) {
	if i := slices.Index(e.cells, of); i >= 0 && slices.Contains(e.released[i], id) {
		s.violate("released-owner-is-dead", "%v: %s of tenure %d of %s, whose release was asked for before", e, use, id, of.Name)
	}
}

// checkKnown: an engine that lives has a machine for every name that one of its owners has in Redis. Who came there by a copy, or by what
// ran later than anything should, runs out by itself.
func (s *state) checkKnown() {
	if s.w.Kind > gate.FairKind && s.w.Kind != gate.SimpleKind || s.destroyed || s.surprised {
		return
	}
	for _, e := range s.engines {
		for name, c := range e.cells {
			if c != nil || e.dead || !e.touched {
				continue
			}
			if owner := s.ownerOf(name); owner != "" && !strings.HasSuffix(owner, gate.DetachedSuffix) {
				if _, ours := e.numberOf(owner); ours {
					s.violate("nothing-is-left", "%s stands in Redis for %s, and %v has forgotten it", owner, nameOf(name), e)
				}
			}
		}
	}
}
