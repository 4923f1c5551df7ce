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
	ph := &phase{plan: plan{name: "made"}, places: places(kinds, 1)}
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
	check("a double grant", overlap, overlap.h.exclusion, "exclusion")
	check("one after the other", after, after.h.exclusion, "")

	readers, writers := pair(rws, 40), pair(rws, 40, writer)
	check("two readers", readers, readers.h.exclusion, "")
	check("two writers", writers, writers.h.exclusion, "exclusion")

	mixed := pair(rws, 40)
	mixed.h.calls[0].write = true
	check("a reader beside a writer", mixed, mixed.h.exclusion, "exclusion")

	many := newHistory(permits)
	for i := range 4 {
		many.call(i, 0, 0, 10, unlockedIn(50, 55))
	}
	check("too many permits", many, many.h.exclusion, "exclusion")

	entered := newHistory(reentrant)
	for range 2 {
		entered.call(1, 0, 0, 10, unlockedIn(50, 55), func(c *hold) { c.owner = "one" })
	}
	check("re-entry", entered, entered.h.exclusion, "")

	expired := pair(mutexes, 40)
	expired.h.calls[0].deadline = 30 * ms
	check("a grant after the deadline", expired, expired.h.exclusion, "")

	repeated, falling := newHistory(fenced), newHistory(fenced)
	for i, token := range []int64{7, 7} {
		at := instant(100 * i)
		repeated.call(i, 0, at, at+10, withToken(token), unlockedIn(at+20, at+25))
		falling.call(i, 0, at, at+10, withToken(9-int64(i)), unlockedIn(at+20, at+25))
	}
	again := newHistory(fenced)
	for range 2 {
		again.call(1, 0, 0, 10, withToken(7), unlockedIn(50, 55), func(c *hold) { c.owner = "one" })
	}
	check("an owner who enters again", again, again.h.tokens, "")
	both := pair(fenced, 40, withToken(7))
	check("a token twice at the same time", both, both.h.tokens, "tokens")
	check("a token twice", repeated, repeated.h.tokens, "tokens")
	check("a token that falls", falling, falling.h.tokens, "tokens")
}
