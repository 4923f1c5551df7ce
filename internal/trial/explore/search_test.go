package explore

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/wheellock/wheellock/internal/redismodel"
)

// A search that goes back plays a path again, and leaves out what comes after a fault unless the path leads to the state that was
// noted: it must lead there.
func TestAPathThatIsPlayedAgainLeadsToTheSameState(t *testing.T) {
	h := newHasher(maphash.MakeSeed())
	for n, w := range SmallWorlds {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(n)))
		d := &search{w: w, in: redismodel.NewInterpreter(), hasher: h, seen: newVisited(*statesFlag)}
		s := d.start()
		for range 40 {
			moves := s.moves(nil)
			if len(moves) == 0 {
				break
			}
			d.play(s, moves[r.IntN(len(moves))])
			if h.hash(d.replay()) != h.hash(s) {
				t.Errorf("%s: %s leads to another state when it is played again", w.Name, formatMoves(d.path))
				break
			}
		}
	}
}
