package explore

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/wheellock/wheellock/internal/redismodel"
)

// Result is what a search or a walk has seen.
type Result struct {
	States   int      // different ones
	Steps    int      // moves that were played, without those that were played again to get somewhere
	Complete bool     // every order was seen
	Found    *Finding // nil: every invariant held
}

// add takes what another has seen of the same world.
func (r *Result) add(of *Result) {
	r.Steps += of.Steps
	if r.Found == nil {
		r.Found = of.Found
	}
}

// Search visits every order of events of a world, unless there are more than mostStates. It sees what can happen without a
// fault first, then with one, and so on: a state that was seen with fewer faults behind it leads to nothing new.
func Search(w *World, mostStates int) Result {
	seen := newVisited(mostStates)
	later := []putOff{{}}
	var r Result
	for len(later) > 0 && r.Found == nil {
		later = level(w, seen, later, &r)
	}
	r.States = seen.count()
	r.Complete = r.Found == nil && !seen.full()
	if r.Found != nil {
		r.Found.shrink(redismodel.NewInterpreter())
	}
	return r
}

// level visits what comes after faults that were put off, and returns the next ones. All processors share the work.
func level(w *World, seen *visited, from []putOff, r *Result) (later []putOff) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		next  atomic.Int64
	)
	for range min(runtime.GOMAXPROCS(0), len(from)) {
		group.Go(func() {
			d := &search{w: w, in: redismodel.NewInterpreter(), hasher: newHasher(seen.seed), seen: seen}
			d.found(func() {
				for n := next.Add(1) - 1; n < int64(len(from)) && !seen.over.Load(); n = next.Add(1) - 1 {
					d.from(&from[n])
				}
			})
			mu.Lock()
			defer mu.Unlock()
			later = append(later, d.later...)
			r.add(&d.result)
		})
	}
	group.Wait()
	return later
}

// search is one worker's: a depth-first search between two faults. To go back it plays the path to a state again; scripts are
// not run again for that.
type search struct {
	w      *World
	in     *redismodel.Interpreter
	hasher *hasher
	seen   *visited
	path   []Move
	later  []putOff
	tape   tape
	result Result
}

// putOff is a path whose last move is a fault behind which nothing was seen yet, with what scripts answered along it.
type putOff struct {
	path    []Move
	records []record
}

func (d *search) start() *state {
	d.tape.at = 0
	return newState(d.w, d.in, &d.tape, nil)
}

// replay plays the path. Of the checks it makes those that note something in the state: else it would lead to another one.
func (d *search) replay() *state {
	s := d.start()
	for _, m := range d.path {
		s.apply(m)
		s.checkEnds()
	}
	return s
}

// from visits what comes after a path, unless its end was reached with fewer faults or ticks meanwhile.
func (d *search) from(p *putOff) {
	d.path, d.tape.records = p.path, p.records
	*p = putOff{}
	s := d.replay()
	if len(d.path) == 0 || d.seen.still(d.hasher.hash(s), spentBy(s)) {
		d.visit(s)
	}
}

// found turns a violation into the result.
func (d *search) found(play func()) {
	defer func() {
		if v := caught(recover()); v != nil {
			d.seen.over.Store(true)
			d.result.Found = &Finding{d.w, v.invariant, v.text, append([]Move(nil), d.path...)}
		}
	}()
	play()
}

// visit goes on from a state that is new.
func (d *search) visit(s *state) {
	length := len(d.path)
	moves := s.moves(nil)
	for len(moves) == 1 && moves[0].do != doFault { // there is no other way
		d.play(s, moves[0])
		moves = s.moves(moves[:0])
	}
	if len(d.path) > length && !d.isNew(s) {
		d.path = d.path[:length]
		return
	}
	if len(moves) == 0 {
		s.tape = nil
		s.recover()
		d.path = d.path[:length]
		return
	}
	here, scripts := len(d.path), d.tape.at
	for i, m := range moves {
		if d.seen.over.Load() {
			return
		}
		if i > 0 {
			d.tape.records = d.tape.records[:scripts]
			s = d.replay()
		}
		d.play(s, m)
		switch {
		case !d.isNew(s):
		case m.do == doFault:
			d.later = append(d.later, putOff{slices.Clone(d.path), slices.Clone(d.tape.records)})
		default:
			d.visit(s)
		}
		d.path = d.path[:here]
	}
	d.path = d.path[:length]
}

// play makes a move.
func (d *search) play(s *state, m Move) {
	d.path = append(d.path, m)
	if !s.apply(m) {
		s.violate("moves-are-possible", "%v is not", m)
	}
	d.result.Steps++
	s.check()
}

// isNew reports whether a state is seen for the first time, or with less spent than before.
func (d *search) isNew(s *state) bool { return d.seen.add(d.hasher.hash(s), spentBy(s)) }
