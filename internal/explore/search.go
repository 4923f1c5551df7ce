package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/explore/redismodel"
)

// Result is what a search or a walk has seen.
type Result struct {
	States   int  // different ones
	Steps    int  // moves that were played, without those that were played again to get somewhere
	Depth    int  // moves of the longest path
	Ends     int  // paths that came to rest
	Complete bool // every order was seen
	Elapsed  time.Duration
	Found    *Finding // nil: every invariant held
}

// Finding is a list of moves after which an invariant does not hold.
type Finding struct {
	World     *World
	Invariant string
	Text      string
	Moves     []Move
}

// String tells what happens, move by move, and how to play it again.
func (f *Finding) String() string {
	var log []string
	replay(f.World, redismodel.NewInterpreter(), f.Moves, &log)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n\nas a test:\n\n\treplayed(t, %q, `%s`)\n", f.Invariant, f.Text, strings.Join(log, "\n"), f.World.Name, formatMoves(f.Moves))
	return b.String()
}

// Search visits every order of events of a world, unless there are more than mostStates.
func Search(w *World, mostStates int) Result {
	began := time.Now()
	d := &search{w: w, in: redismodel.NewInterpreter(), hasher: newHasher(), seen: make(map[uint64]struct{}), most: mostStates}
	d.result.Complete = true
	d.found(func() { d.visit(d.start()) })
	d.result.States, d.result.Elapsed = len(d.seen), time.Since(began)
	if f := d.result.Found; f != nil {
		d.result.Complete = false
		f.shrink(d.in)
	}
	return d.result
}

// search is a depth-first one. To go back it plays the path to a state again: scripts are not run again for that.
type search struct {
	w      *World
	in     *redismodel.Interpreter
	hasher *hasher
	seen   map[uint64]struct{}
	most   int
	path   []Move
	tape   tape
	result Result
}

func (d *search) start() *state {
	d.tape.at = 0
	return newState(d.w, d.in, &d.tape, nil)
}

// found turns a violation into the result.
func (d *search) found(play func()) {
	defer func() {
		if v := caught(recover()); v != nil {
			d.result.Found = &Finding{d.w, v.invariant, v.text, append([]Move(nil), d.path...)}
		}
	}()
	play()
}

// caught is the violation that was recovered; another panic of a gate is one too.
func caught(recovered any) *violation {
	switch r := recovered.(type) {
	case nil:
		return nil
	case violation:
		return &r
	case error:
		return &violation{"no-panic", r.Error()}
	default:
		return &violation{"no-panic", fmt.Sprint(r)}
	}
}

// visit goes on from a state that is new.
func (d *search) visit(s *state) {
	length := len(d.path)
	moves := s.moves(nil)
	for len(moves) == 1 { // there is no other way
		d.play(s, moves[0])
		moves = s.moves(moves[:0])
	}
	d.result.Depth = max(d.result.Depth, len(d.path))
	if len(d.path) > length && d.known(d.hasher.hash(s)) {
		d.path = d.path[:length]
		return
	}
	if len(moves) == 0 {
		d.result.Ends++
		s.tape = nil
		s.calm()
		d.path = d.path[:length]
		return
	}
	here, scripts := len(d.path), d.tape.at
	for i, m := range moves {
		if len(d.seen) >= d.most {
			d.result.Complete = false
			return
		}
		if i > 0 {
			d.tape.records = d.tape.records[:scripts]
			s = d.start()
			for _, m := range d.path {
				s.apply(m)
			}
		}
		d.play(s, m)
		if !d.known(d.hasher.hash(s)) {
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

func (d *search) known(h uint64) bool {
	if _, known := d.seen[h]; known {
		return true
	}
	d.seen[h] = struct{}{}
	return false
}

// replay plays moves, and then calm. Moves that are not possible are left out. Nil: every invariant held.
func replay(w *World, in *redismodel.Interpreter, moves []Move, log *[]string) (v *violation) {
	defer func() {
		if r := recover(); r != nil {
			v = caught(r)
		}
	}()
	s := newState(w, in, nil, log)
	for i, m := range moves {
		if log != nil {
			*log = append(*log, fmt.Sprintf("%3d. %-14v %v", i+1, m, time.Duration(s.now)))
		}
		if s.apply(m) {
			s.check()
		}
	}
	s.calm()
	return nil
}

// shrink leaves out moves for as long as the same invariant breaks.
func (f *Finding) shrink(in *redismodel.Interpreter) {
	for size := max(len(f.Moves)/2, 1); size > 0; {
		shorter := false
		for from := 0; from < len(f.Moves); {
			some := append(append([]Move(nil), f.Moves[:from]...), f.Moves[min(from+size, len(f.Moves)):]...)
			if v := replay(f.World, in, some, nil); v != nil && v.invariant == f.Invariant {
				f.Moves, f.Text, shorter = some, v.text, true
			} else {
				from += size
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
}
