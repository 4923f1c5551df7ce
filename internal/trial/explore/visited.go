package explore

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// visited is what has been seen of a world: its states by their hash, and with what was spent until then. Several workers use
// it at a time.
type visited struct {
	seed   maphash.Seed
	most   int64
	states atomic.Int64
	over   atomic.Bool // nobody goes on: something was found, or there are too many states
	shards [64]shard
}

type shard struct {
	mu     sync.Mutex
	states map[uint64]spent
}

// spent is what a path has used of the world's bounds.
type spent struct{ faults, ticks uint8 }

func spentBy(s *state) spent { return spent{uint8(s.faults), uint8(s.ticks)} }

// within reports whether nothing of a is more than of b.
func (a spent) within(b spent) bool { return a.faults <= b.faults && a.ticks <= b.ticks }

func newVisited(most int) *visited {
	v := &visited{seed: maphash.MakeSeed(), most: int64(most)}
	for i := range v.shards {
		v.shards[i].states = make(map[uint64]spent)
	}
	return v
}

// add notes a state. False: it was seen before, with no more spent.
func (v *visited) add(h uint64, now spent) bool {
	s := &v.shards[h%uint64(len(v.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.states[h]
	if known && before.within(now) {
		return false
	}
	s.states[h] = now
	if !known && v.states.Add(1) >= v.most {
		v.over.Store(true)
	}
	return true
}

// still reports whether a state that was noted was not seen again with less spent.
func (v *visited) still(h uint64, now spent) bool {
	s := &v.shards[h%uint64(len(v.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[h] == now
}

func (v *visited) count() int { return int(v.states.Load()) }

// full reports whether there were more states than there may be.
func (v *visited) full() bool { return v.states.Load() >= v.most }
