package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// made is a history by hand: times are in milliseconds, clients and calls are numbered as they come.
type made struct {
	h       *history
	clients map[int]*process
}

func newHistory(kinds ...kind) *made {
	ph := &phase{plan: plan{name: "made"}, places: places(kinds, 1), resource: &resource{}}
	return &made{&history{phase: ph, stalls: make(map[*process][]span)}, make(map[int]*process)}
}

// call adds one: by a client, on the n-th name, called and granted then.
func (m *made) call(client, n int, calledAt, grantedAt instant, change ...func(*hold)) *hold {
	p := m.clients[client]
	if p == nil {
		p = &process{setting: setting{Number: client}}
		m.clients[client] = p
	}
	c := &hold{client: p, call: uint32(len(m.h.calls) + 1), place: &m.h.phase.places[n], way: unbound, n: 1,
		calledAt: calledAt * ms, grantedAt: grantedAt * ms, deadline: (grantedAt + 1000) * ms}
	c.owner = c.name()
	for _, f := range change {
		f(c)
	}
	m.h.calls = append(m.h.calls, c)
	return c
}

const ms = instant(time.Millisecond)

func unlockedIn(from, to instant) func(*hold) {
	return func(c *hold) { c.unlockAt, c.unlockedAt = from*ms, to*ms }
}

func withToken(n int64) func(*hold) { return func(c *hold) { c.token = n } }

func writer(c *hold) { c.write = true }

// verdict are those of judge that a history by hand can be brought before, and finds its name.
func (m *made) verdict(run func()) string {
	m.h.violations, m.h.figures = nil, figures{}
	run()
	var found []string
	for _, v := range m.h.violations {
		found = append(found, v.Oracle)
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}

// Each oracle finds what it is there for, and nothing in its absence.
func TestOracles(t *testing.T) {
	check := func(name string, m *made, run func(), want string) {
		t.Run(name, func(t *testing.T) {
			if got := m.verdict(run); got != want {
				t.Errorf("found %q, want %q: %v", got, want, m.h.violations)
			}
		})
	}
	pair := func(k kind, second instant, change ...func(*hold)) *made {
		m := newHistory(k)
		m.call(1, 0, 0, 10, append(change, unlockedIn(50, 55))...)
		m.call(2, 0, 5, second, append(change, unlockedIn(90, 95))...)
		return m
	}
	overlap, after := pair(mutexes, 40), pair(mutexes, 53)
	check("a double grant, by intervals", overlap, overlap.h.exclusion, "exclusion")
	check("a double grant, by porcupine", overlap, overlap.h.models, "porcupine")
	check("one after the other, by intervals", after, after.h.exclusion, "")
	check("one after the other, by porcupine", after, after.h.models, "")

	readers, writers := pair(rws, 40), pair(rws, 40, writer)
	check("two readers, by intervals", readers, readers.h.exclusion, "")
	check("two readers, by porcupine", readers, readers.h.models, "")
	check("two writers, by intervals", writers, writers.h.exclusion, "exclusion")
	check("two writers, by porcupine", writers, writers.h.models, "porcupine")

	mixed := pair(rws, 40)
	mixed.h.calls[0].write = true
	check("a reader beside a writer", mixed, mixed.h.exclusion, "exclusion")

	many := newHistory(permits)
	for i := range 4 {
		many.call(i, 0, 0, 10, unlockedIn(50, 55))
	}
	check("too many permits, by intervals", many, many.h.exclusion, "exclusion")
	check("too many permits, by porcupine", many, many.h.models, "porcupine")

	entered := newHistory(reentrant)
	for range 2 {
		entered.call(1, 0, 0, 10, unlockedIn(50, 55), func(c *hold) { c.owner = "one" })
	}
	check("re-entry, by intervals", entered, entered.h.exclusion, "")
	check("re-entry, by porcupine", entered, entered.h.models, "")

	expired := pair(mutexes, 40)
	expired.h.calls[0].deadline = 30 * ms
	check("a grant after the deadline", expired, expired.h.exclusion, "")

	repeated, falling := newHistory(fenced), newHistory(fenced)
	for i, token := range []int64{7, 7} {
		at := instant(100 * i)
		repeated.call(i, 0, at, at+10, withToken(token), unlockedIn(at+20, at+25))
		falling.call(i, 0, at, at+10, withToken(9-int64(i)), unlockedIn(at+20, at+25))
	}
	forged := newHistory(fenced)
	forged.call(0, 0, 0, 10, withToken(2000), unlockedIn(20, 25))
	forged.h.counters = map[string]int64{forged.h.phase.places[0].Name: 1999}
	check("a token that Redis has not made", forged, forged.h.tokens, "tokens")
	again := newHistory(fenced)
	for range 2 {
		again.call(1, 0, 0, 10, withToken(7), unlockedIn(50, 55), func(c *hold) { c.owner = "one" })
	}
	check("an owner who enters again", again, again.h.tokens, "")
	both := pair(fenced, 40, withToken(7))
	check("a token twice at the same time", both, both.h.tokens, "tokens")
	check("a token twice", repeated, repeated.h.tokens, "tokens")
	check("a token that falls", falling, falling.h.tokens, "tokens")
	check("a token that falls, by porcupine", falling, falling.h.models, "porcupine")

	short, long := newHistory(stays), newHistory(stays)
	for i := range instant(2) {
		stay := func(m *made, gap time.Duration) {
			at := i * instant(gap)
			m.call(int(i), 0, at/ms, at/ms+10, withToken(1000+int64(at/1000)), unlockedIn(at/ms+20, at/ms+25))
		}
		stay(short, least-3*time.Millisecond)
		stay(long, least-time.Millisecond)
	}
	check("a name that was free too soon", short, short.h.stay, "stay")
	check("a name that stayed taken", long, long.h.stay, "")

	lost := newHistory(fenced)
	lost.h.phase.resource.lost = []string{"one"}
	check("a lost write", lost, lost.h.tokens, "fenced resource")
}
