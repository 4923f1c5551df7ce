package explore

import (
	"math/rand/v2"

	"github.com/wheellock/wheellock/internal/redismodel"
)

// Walk follows one random path of at most so many moves through a world. The same seed is the same path.
func Walk(w *World, in *redismodel.Interpreter, seed uint64, steps int) (result Result) {
	r := rand.New(rand.NewPCG(seed, uint64(len(w.Name))))
	var path []Move
	defer func() {
		result.Steps = len(path)
		if v := caught(recover()); v != nil {
			result.Found = &Finding{w, v.invariant, v.text, path}
			result.Found.shrink(in)
		}
	}()
	s := newState(w, in, nil, nil)
	s.wander(r, steps, &path)
	s.recover()
	return result
}

// wander makes at most so many moves at random, and notes each in path.
func (s *state) wander(r *rand.Rand, steps int, path *[]Move) {
	var moves []Move
	for range steps {
		moves = s.moves(moves[:0])
		if len(moves) == 0 {
			break
		}
		m := choose(moves, r)
		*path = append(*path, m)
		s.apply(m)
		s.check()
	}
}

// choose takes faults seldom, and calls less often than what follows from them.
func choose(moves []Move, r *rand.Rand) Move {
	for {
		m := moves[r.IntN(len(moves))]
		switch {
		case m.do == doFault && r.IntN(8) > 0 && len(moves) > 1:
		case m.do == publish && r.IntN(8) > 0 && len(moves) > 1:
		case m.do == doCall && r.IntN(4) > 0 && len(moves) > 1:
		default:
			return m
		}
	}
}
