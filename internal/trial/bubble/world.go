package bubble

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/internal/redisnet"
)

// World is processes with engines, on one or three servers, in a bubble.
type World struct {
	record
	seed uint64
	plan plan

	servers    []*redisnet.Server
	subjects   []*subject
	processes  []*process
	judge      judge
	calls      calls
	judging    atomic.Bool  // the judge looks at holds: nothing is stalled
	recovering atomic.Bool  // what befell it is over, and nobody begins anything
	pulse      atomic.Int64 // ns of virtual time, as the judge saw it last
	lived      time.Duration
	done       chan struct{}
	callers    sync.WaitGroup
	others     sync.WaitGroup // judge, faults
	pairs      int            // of calls for fair locks that were judged
	gap        time.Duration  // the longest in which a name was free while somebody waited, and nothing befell anybody
	troubles   []span         // of all processes, by their beginning
}

// subject is a name, of its kind.
type subject struct {
	kind     kind
	name     string
	parts    []string // the names it locks
	tally    tally    // of what counts
	detached detached
	alone    []*subject // each name of a multi
}

// meets reports whether two have a name in common.
func (s *subject) meets(other *subject) bool {
	return slices.ContainsFunc(s.parts, func(part string) bool { return slices.Contains(other.parts, part) })
}

// newWorld makes the world of a seed, whose plan is drawn. Scripts run by in.
func newWorld(seed uint64, in *redismodel.Interpreter, draws func(*rand.Rand) plan) *World {
	w := &World{seed: seed, done: make(chan struct{})}
	w.began = time.Now()
	r := w.chance(planChance)
	w.plan = draws(r)
	for i := range w.plan.servers {
		s := redisnet.New(string(rune('a'+i)), in)
		s.Drift(w.plan.drift * (2*r.Float64() - 1))
		w.servers = append(w.servers, s)
	}
	for i, k := range w.plan.kinds {
		s := &subject{kind: k, name: fmt.Sprintf("%v%d", k, i)}
		s.parts = []string{s.name}
		if k == multiKind {
			s.parts = []string{s.name + "x", s.name + "y"}
			for _, part := range s.parts {
				s.alone = append(s.alone, &subject{kind: partKind, name: part, parts: []string{part}})
			}
		}
		w.subjects = append(w.subjects, s)
	}
	w.judge.w, w.calls.w = w, w
	return w
}

// chance is a source of chance of its own for each purpose, so that they do not disturb each other.
func (w *World) chance(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed, purpose))
}

// The purposes; those of processes and callers follow.
const (
	planChance = iota
	faultChance
	judgeChance
	processChance = 100
	callerChance  = 10_000
)

// run is the life of the world. It returns when nothing of it is left, or something is wrong.
func (w *World) run() {
	w.note("seed %d: %d processes with %d callers, %d servers, kinds %v, lease %v, travel %v, faults every %v, stalls %.4f, pubsub %v, handoff %v",
		w.seed, w.plan.processes, w.plan.callers, w.plan.servers, w.plan.kinds, w.plan.lease, w.plan.travel, w.plan.faults, w.plan.stalls, w.plan.options.PubSub, w.plan.options.HandoffTime)
	defer w.stall()()
	for i := range w.plan.processes {
		w.processes = append(w.processes, newProcess(w, i))
	}
	for _, p := range w.processes {
		if err := p.open(); err != nil {
			w.violation("open", "%v", err)
			return
		}
	}
	w.furnish()
	w.others.Go(w.judge.run)
	w.others.Go(w.calls.run)
	for _, p := range w.processes {
		for i := range w.plan.callers {
			c := newCaller(p, i)
			w.callers.Go(c.run)
		}
	}
	w.befall()
	w.mend()
	w.callers.Wait()
	w.settle()
	close(w.done)
	w.others.Wait()
	w.end()
}
