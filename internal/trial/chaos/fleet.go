package chaos

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/judge"
	kit "github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/scripts"
)

// A fleet is many clients with one caller each for every name: they stand in its line. The faults kill or stop one that stands first in a
// line, or has just been given the lock. Every sparedth client is spared; these have equal shares.

const (
	spared = 3
	// fleetLease is the shortest lease of which engines believe a message that they were given it. A lock is given for no longer to an engine that
	// is dead by then, or stands still.
	fleetLease = 2500 * time.Millisecond
	// lineTime is how long a line lasts after its last question (STANDS in scripts/line.lua).
	lineTime = time.Minute
	// promptly is how long a name in a fleet may be free beyond what strikes cost.
	promptly = 500 * time.Millisecond
	// evenly is the least of Jain's index of the shares of those that are spared. Few turns are less even.
	evenly = 0.9
	// enough is how many each has had, on the average, before shares are judged.
	enough = 5
	// cheaply is the most script calls for each grant: three, and what starts and those who wait for long ask besides.
	cheaply = 5.0
)

// firstInLine draws a client that stands first in the line of some name. nil: none that is not spared does now.
func (ph *phase) firstInLine(random *rand.Rand) *process {
	line := ph.line(ph.places[random.IntN(len(ph.places))])
	if len(line) == 0 {
		return nil
	}
	ph.mu.Lock()
	defer ph.mu.Unlock()
	i := slices.IndexFunc(ph.clients, func(p *process) bool { return p.stands(line[:1]) })
	if i < 0 || i%spared == 0 {
		return nil
	}
	return ph.clients[i]
}

// line is who stands in line for a name.
func (ph *phase) line(p place) []string {
	return ph.server.Do("ZRANGE", scripts.LineKey(p.Name), "0", "-1").Texts()
}

// stands reports whether the process has a place in a line.
func (p *process) stands(line []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine != "" && slices.ContainsFunc(line, func(place string) bool { return strings.HasPrefix(place, p.engine+":") })
}

// stopFirst stops the victim for longer than a lease.
func stopFirst(s *strike) bool {
	s.lookAtLines()
	s.mayKeep(func(place) bool { return true })
	return s.victim.freeze(s.lease + s.upTo(s.lease))
}

// killFirst kills the victim, at times only when it has left its place because the lock was given to it. Permits of a semaphore never
// come back from the dead, so only who stands in line for them is killed.
func killFirst(s *strike) (hit bool) {
	s.lookAtLines()
	given := s.IntN(3) == 0
	s.victim.freeze(0, func() {
		s.barrier()
		ahead := make(map[string]bool)
		for _, p := range s.places {
			line := s.line(p)
			if p.Kind == semaphores && !s.victim.stands(line) {
				return
			}
			ahead[p.Name] = len(line) > 0 && s.victim.stands(line[:1])
		}
		for end := now().plus(100 * time.Millisecond); given && now() < end; time.Sleep(time.Millisecond) {
			given = !slices.ContainsFunc(s.places, func(p place) bool { return ahead[p.Name] && !s.victim.stands(s.line(p)) })
		}
		s.victim.kill()
		s.barrier()
		s.mayKeep(func(p place) bool { // a place for permits that is called, or was given what it wanted
			line := s.line(p)
			return !s.victim.stands(line) || p.Permits > 0 && s.victim.stands(line[:1])
		})
		hit = true
	})
	if hit {
		s.replace(s.victim)
	}
	return hit
}

// barrier returns when Redis has done all that the victim, which does not run any more, has sent on its own connections, and knows which
// of these have ended: it has looked at all of them at least once since.
func (s *strike) barrier() {
	for range 2 {
		s.server.Do("PING")
	}
}

// mayKeep notes the names that may be kept for the victim in vain.
func (s *strike) mayKeep(which func(place) bool) {
	s.costs = make(map[string]time.Duration)
	for _, p := range s.places {
		if which(p) {
			s.costs[p.Name] = fleetLease
		}
	}
}

// lookAtLines notes a line that lasts longer than it may after its last question.
func (s *strike) lookAtLines() {
	for _, p := range s.places {
		key := scripts.LineKey(p.Name)
		if left := s.server.Do("PTTL", key).Int; left == -1 || left > lineTime.Milliseconds() {
			s.wrong = key + " lasts for " + strconv.FormatInt(left, 10) + " ms"
		}
	}
}

// shares are the grants to each client that is spared, by name, from when the last of them had its first until the last strike, and how
// many turns that are on the average, at least.
func (h *history) shares() (by map[*place][]int64, whole span, turns int64) {
	ph, first := h.phase, make(map[*process]instant)
	if whole.to = ph.recoveryFrom; whole.to == 0 {
		whole.to = now()
	}
	for i := 0; i < len(ph.clients); i += spared {
		first[ph.clients[i]] = whole.to
	}
	granted := h.called(func(c *hold) bool { return c.grantedAt != 0 && first[c.client] != 0 })
	for _, calls := range granted {
		for _, c := range calls {
			first[c.client] = min(first[c.client], c.grantedAt)
		}
	}
	for _, at := range first {
		whole.from = max(whole.from, at)
	}
	by, turns = make(map[*place][]int64), math.MaxInt64
	for i := range ph.places {
		p, all, shares := &ph.places[i], int64(0), make(map[*process]int64)
		for client := range first {
			shares[client] = 0
		}
		for _, c := range granted[p] {
			if whole.from <= c.grantedAt && c.grantedAt < whole.to {
				shares[c.client]++
				all++
			}
		}
		by[p], turns = slices.Collect(maps.Values(shares)), min(turns, all/int64(len(first)))
	}
	return by, whole, turns
}

// fleet checks what a fleet has beyond all other phases.
func (h *history) fleet() {
	ph := h.phase
	if !ph.fleet {
		return
	}
	for _, b := range ph.blows {
		if b.wrong != "" {
			h.fail("line", "%s", b.wrong)
		}
	}
	all := h.called(func(*hold) bool { return true })
	grants := 0
	for _, c := range h.calls {
		if c.grantedAt != 0 && c.grantedAt < ph.recoveryFrom {
			grants++
		}
	}
	h.figures.HandOver = float64(ph.scripts) / float64(max(grants, 1))
	if h.figures.HandOver > cheaply {
		h.fail("hand-over", "%d script calls for %d grants", ph.scripts, grants)
	}
	shares, whole, _ := h.shares()
	h.figures.Fairness = 1
	for p, of := range shares {
		turns := int64(0)
		for _, n := range of {
			turns += n
		}
		even := kit.Jain(of)
		h.figures.Fairness = min(h.figures.Fairness, even)
		if even < min(evenly, 1-2*float64(len(of))/float64(turns)) {
			h.fail("fairness", "%s: the shares of those that lived are %v", p.Name, of)
		}
		h.kept(p, all[p], whole)
	}
}

// kept looks for times in which a name was free while somebody waited for it, longer than the strikes explain.
func (h *history) kept(p *place, calls []*hold, whole span) {
	for gap := range judge.Gaps(calls) {
		free := span{instant(gap.From), instant(gap.To)}
		if free.from < whole.from || whole.to < free.from {
			continue
		}
		length, explained := free.to.sub(free.from), free.shared(h.phase.stalls)+free.shared(h.phase.faints)
		for _, c := range gap.Waiting {
			explained = max(explained, free.shared(h.stalls[c.client]))
		}
		for _, b := range h.phase.blows {
			struck := span{b.when.from.plus(-50 * time.Millisecond), b.when.to.plus(50 * time.Millisecond)}
			if p.Permits > 0 { // what the dead had is too few for those who are left: that shows later, and until somebody finds it over
				struck.to = struck.to.plus(h.phase.lease + time.Second)
			}
			if struck.meets(free) {
				explained += b.costs[p.Name]
			}
		}
		h.figures.Kept = max(h.figures.Kept, length-explained)
		if length > promptly+explained {
			h.fail("liveness", "%s was free from %d for %v while %d waited for it; strikes and stalls explain %v", p.Name, free.from, length, len(gap.Waiting), explained)
		}
	}
}
