package load

import (
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// LateAfter is how long after it was due a call of an open loop counts as begun late: more than the timers of
// an idle machine are off.
const LateAfter = time.Millisecond

// shard is where some callers record what they do: histograms are not safe for several goroutines, and one
// for each of 100,000 callers would need gigabytes. A caller records in the same shard all its life.
type shard struct {
	mu     sync.Mutex // guards the rest; held for one record
	counts Counts
	times  *Times
	pairs  []int64 // of each of its callers, since a take that asked for them

	_ [64]byte // neighbours do not share a cache line
}

// entered records a grant to a caller of this shard.
func (s *shard) entered(c *caller, acquire time.Duration, e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Sections++
	s.times.Acquire.Record(acquire)
	switch {
	case c.reads:
		s.times.Readers.Record(acquire)
	case c.rig.plan.Kind == RW:
		s.times.Writers.Record(acquire)
	}
	for _, found := range []struct {
		is    bool
		count *int64
	}{{e.violated, &s.counts.Violations}, {e.early, &s.counts.Early}, {e.tokenBack, &s.counts.TokensBack}, {e.disordered, &s.counts.Disordered}} {
		if found.is {
			*found.count++
		}
	}
	if e.overtaken > 0 {
		s.times.Overtaken.Record(e.overtaken)
	}
	switch {
	case e.handover == 0:
	case (e.before-1)%max(c.rig.plan.Processes, 1) != c.rig.process:
		s.times.Across.Record(e.handover)
	default:
		s.times.Handover.Record(e.handover)
	}
}

// begun records how late a call of an open loop began.
func (s *shard) begun(lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times.StartLag.Record(lag)
	if lag > LateAfter {
		s.counts.Late++
	}
}

// checked records a check in Redis.
func (s *shard) checked(c *check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Witnessed++
	s.times.Check.Record(c.took)
	switch {
	case !c.sure:
		s.counts.Unwitnessed++
	case !c.fits:
		s.counts.SeenInRedis++
	}
}

// pair records one of a caller of this shard.
func (s *shard) pair(c *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Pairs++
	s.pairs[c.place]++
	if c.reads {
		s.counts.Reads++
	}
	if c.passed {
		s.counts.Handovers++
	}
}

// lost records a wait that was begun again.
func (s *shard) lost(waited time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Lost++
	s.times.Across.Record(waited)
}

func (s *shard) count(what func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.counts)
}

func timeout(c *Counts)    { c.Timeouts++ }
func failed(c *Counts)     { c.Failed++ }
func overstayed(c *Counts) { c.Overstayed++ }

// tally is all shards.
type tally struct {
	shards []shard
	spare  *Times // empty; owned by the goroutine that takes
}

// newTally makes shards for so many callers. The i-th caller is the (i / shards)-th of shard i % shards.
func newTally(shards, callers int) *tally {
	t := &tally{shards: make([]shard, shards), spare: &Times{}}
	for i := range t.shards {
		t.shards[i].times = &Times{}
		t.shards[i].pairs = make([]int64, (callers-i+shards-1)/shards)
	}
	return t
}

// take moves everything recorded into s. It holds up a caller for a swap, not for the adding. callers: also
// the pairs of each caller, since the last take that asked for them.
func (t *tally) take(s *Sample, callers bool) {
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		counts, times := shard.counts, shard.times
		shard.counts, shard.times = Counts{}, t.spare
		if callers {
			s.Callers = append(s.Callers, shard.pairs...)
			clear(shard.pairs)
		}
		shard.mu.Unlock()
		figures.Add(&s.Counts, &counts)
		figures.Add(&s.Times, times)
		times.reset()
		t.spare = times
	}
}

// failures counts calls that failed by what their errors say. Failing is rare, or speed does not matter.
type failures struct {
	mu   sync.Mutex // guards the rest
	seen map[string]int64
}

// kinds is how many different texts are kept apart.
const kinds = 16

func (f *failures) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = make(map[string]int64)
	}
	if _, known := f.seen[text]; !known && len(f.seen) >= kinds {
		text = "other errors"
	}
	f.seen[text]++
}

func (f *failures) take() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}
