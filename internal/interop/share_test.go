package interop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// rivalry is callers of some engines beside threads of Redisson. All ask again at once after they have unlocked.
type rivalry struct {
	kind    string
	lock    func(*engine.Engine, string) *engine.Mutex
	engines int
	callers int // of each engine
	names   int
	threads int           // of Redisson
	longest time.Duration // wait of Redisson's; 0: any, its threads keep each other out
}

// holdTime is how long each sleeps inside, besides counting: names are what there is too little of, and not the processor of a JVM.
const holdTime = 2 * time.Millisecond

// TestRedissonGetsItsShare: of all grants Redisson and the engines each get at least a seventh of what would be their share if every caller
// had as many. Turns are equally long, but a JVM hands on more slowly, and misses turns while it waits for a processor: on a machine of its own
// it has 0.3 to 0.5 of its share beside two callers. A single thread in RSpinLock waits for less than a second by our doing; several keep
// each other out for longer, also where there is nobody else.
func TestRedissonGetsItsShare(t *testing.T) {
	p := newPair(t, engine.Options{})
	p.java.Do("contend spin warm 4 0.3 warm") // its first turns pay for the JIT
	spin, plain := (*engine.Engine).SpinMutex, (*engine.Engine).Mutex
	writer := func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() }
	for _, r := range []rivalry{
		{"spin", spin, 1, 8, 1, 1, 2 * time.Second},
		{"spin", spin, 1, 8, 4, 4, 5 * time.Second},
		{"lock", plain, 1, 8, 1, 4, 3 * time.Second},
		{"lock", plain, 2, 1, 1, 4, 3 * time.Second},
		{"lock", plain, 16, 1, 1, 4, 3 * time.Second},
		{"write", writer, 2, 1, 1, 4, 3 * time.Second},
		{"write", writer, 16, 1, 1, 4, 3 * time.Second},
	} {
		t.Run(fmt.Sprintf("%s, engines %d of %d, names %d, threads %d", r.kind, r.engines, r.callers, r.names, r.threads), func(t *testing.T) { r.run(t, p) })
	}
}

func (r rivalry) run(t *testing.T, p *pair) {
	what := fmt.Sprintf("share:%s:%d:%d:%d", r.kind, r.names, r.threads, r.engines)
	f := newFight(t, p, what, max(contention(t), 4*time.Second))
	f.names = nil
	for n := range r.names {
		f.names = append(f.names, fmt.Sprintf("%s:%d", what, n))
	}
	f.redisson(r.kind, r.threads, "-", fmt.Sprint(holdTime.Milliseconds()))
	redistest.Await(t, "Redisson's first section", func() bool { return p.server.MustDo("EXISTS", f.prefix+":"+f.names[0]+":count").Int == 1 })
	for n := range r.engines {
		e := p.Engine
		if n > 0 {
			e = open(t, p.server, engine.Options{})
		}
		f.ours(r.callers, func(name string) (func() error, error) {
			return entered(r.lock(e, name).Lock(context.Background()))
		}, func(name string) bool {
			defer time.Sleep(holdTime)
			return f.add(name)
		})
	}
	f.end(true)
	theirs, ours := Field(t, f.said[0], "sections"), int64(f.entered)
	threads, callers := int64(r.threads), int64(r.engines*r.callers)
	ofShare := func(grants, of int64) float64 { return float64(grants*(threads+callers)) / float64((theirs+ours)*of) }
	t.Logf("%d threads had %d grants, %.2f of their share; %d callers %d, %.2f", threads, theirs, ofShare(theirs, threads), callers, ours, ofShare(ours, callers))
	if min(ofShare(theirs, threads), ofShare(ours, callers)) < 1./7 {
		t.Error("less than a seventh of a share")
	}
	if waited := time.Duration(Field(t, f.said[0], "maxWaitMs")) * time.Millisecond; r.longest > 0 && waited > r.longest {
		t.Errorf("a thread of Redisson waited for %v", waited)
	}
}
