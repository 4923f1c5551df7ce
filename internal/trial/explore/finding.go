package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

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

// replay plays moves, and then recover. Moves that are not possible are left out. Nil: every invariant held.
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
	s.recover()
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
