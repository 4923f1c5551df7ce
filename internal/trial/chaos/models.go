package chaos

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/wheellock/wheellock/internal/judge"
)

// step is an operation on a name, as the models see it: a grant, or its end.
type step struct {
	end   bool
	owner string
	write bool
	n     int
	token int64
}

// state is what the models know of a name. It is comparable.
type state struct {
	owner   string // who has it, of one who excludes others
	count   int    // his holds
	readers int    // holds of others
	used    int    // permits
	token   int64  // the last
}

// modelTimeout bounds the check of one name. Reaching it fails the run.
const modelTimeout = 20 * time.Second

// models checks each name's grants and ends against the model of its kind with porcupine: there must be one order
// of them all, in agreement with their times, in which each was allowed. What a hold's end is, when nobody unlocked
// it, is left open from its deadline on.
func (h *history) models() {
	for p, holds := range h.granted() {
		allowed := modelOf(p)
		model := porcupine.Model{
			Init: func() any { return state{} },
			Step: func(s, in, _ any) (bool, any) { return allowed(s.(state), in.(step)) },
		}
		ops := h.operations(p, holds)
		switch porcupine.CheckOperationsTimeout(model, ops, modelTimeout) {
		case porcupine.Illegal:
			h.fail("porcupine", "the history of %s fits no order that a %s allows (%d operations)", p.Name, p.Kind, len(ops))
		case porcupine.Unknown:
			h.fail("porcupine", "%s: not decided within %v (%d operations)", p.Name, modelTimeout, len(ops))
		}
		h.figures.Operations += len(ops)
	}
}

// grantWindow is how long before it was heard of a grant may be ordered. It was somewhere after the call; but as it
// still held when it was heard of, every order in which it is earlier has one like it in which it is not, and with
// a hundred callers waiting for one name the checker would not come to an end.
const grantWindow = 5 * time.Millisecond

// operations are the holds' grants and ends. An end that nobody confirmed must have come before the first grant,
// called for later, that it would exclude was heard of: the checker need not look further.
func (h *history) operations(p *place, holds []*hold) []porcupine.Operation {
	byCall := slices.SortedFunc(slices.Values(holds), func(a, b *hold) int { return cmp.Compare(a.calledAt, b.calledAt) })
	var ops []porcupine.Operation
	for i, c := range byCall {
		in := step{owner: c.owner, write: c.write, n: c.n, token: c.token}
		if c.cut != 0 {
			in.token = 0 // tokens.go looks at it
		}
		from := c.surelyUntil()
		if from <= c.grantedAt {
			continue // it was over before it was heard of: nobody ever believed in it
		}
		grant := porcupine.Operation{ClientId: i, Input: in, Call: int64(max(c.calledAt, c.grantedAt-instant(grantWindow))), Return: int64(c.grantedAt)}
		in.end = true
		end := porcupine.Operation{ClientId: i, Input: in, Call: int64(from), Return: int64(never)}
		if c.unlockedAt != 0 && c.unlocked == 0 && from == c.unlockAt {
			end.Return = int64(c.unlockedAt)
		} else if p.Permits == 0 {
			end.Return = int64(max(from, c.outlived(byCall[i+1:])))
		}
		ops = append(ops, grant, end)
	}
	return ops
}

// outlived is when the first of later, by the time they were called, that the hold excludes was granted, if it was
// called for after the hold was heard of.
func (c *hold) outlived(later []*hold) instant {
	first := never
	for _, o := range later {
		if o.calledAt > first {
			break // and so are all behind it
		}
		if o.calledAt > c.grantedAt && judge.Excludes(int64(c.place.Permits), c, o) {
			first = min(first, o.grantedAt)
		}
	}
	return first
}

// modelOf says what a kind allows.
func modelOf(p *place) func(state, step) (bool, state) {
	switch p.Kind {
	case rws:
		return stepRW
	case semaphores, permits:
		return func(s state, o step) (bool, state) { return stepPermits(s, o, p.Permits) }
	default:
		return stepMutex
	}
}

// stepMutex is a reentrant mutex with fencing tokens: without re-entry each call is its own owner.
func stepMutex(s state, o step) (bool, state) {
	if o.end {
		if s.owner != o.owner {
			return false, s
		}
		s.count--
		if s.count == 0 {
			s.owner = ""
		}
		return true, s
	}
	if s.count > 0 && s.owner != o.owner || o.token != 0 && o.token <= s.token {
		return false, s
	}
	s.owner, s.token = o.owner, max(s.token, o.token)
	s.count++
	return true, s
}

// stepRW is a read-write lock.
func stepRW(s state, o step) (bool, state) {
	if o.write {
		if !o.end && s.readers > 0 {
			return false, s
		}
		return stepMutex(s, o)
	}
	if o.end {
		s.readers--
		return s.readers >= 0, s
	}
	if s.count > 0 {
		return false, s
	}
	s.readers++
	return true, s
}

// stepPermits is a number of permits.
func stepPermits(s state, o step, all int) (bool, state) {
	if o.end {
		s.used -= o.n
		return s.used >= 0, s
	}
	s.used += o.n
	return s.used <= all, s
}
