package interop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// rivalry is callers of one engine beside threads of Redisson. All ask again at once after they have unlocked.
type rivalry struct {
	kind    string
	lock    func(*engine.Engine, string) *engine.Mutex
	names   int
	threads int           // of Redisson
	longest time.Duration // wait of Redisson's; 0: any, its threads keep each other out
}

const ourCallers = 8

// holdTime is how long each sleeps inside, besides counting: names are what there is too little of, and not the processor of a JVM.
const holdTime = 2 * time.Millisecond

// TestRedissonGetsItsShare: of all grants at least a third of what would be its share if every caller had as many. A
// single thread in RSpinLock waits for less than a second by our doing; several keep each other out for longer, also
// where there is nobody else. The bounds allow for a machine that is short of processors.
func TestRedissonGetsItsShare(t *testing.T) {
	p := newPair(t, engine.Options{})
	p.java.Do("contend spin warm 4 0.3 warm") // its first turns pay for the JIT
	spin, plain := (*engine.Engine).SpinMutex, (*engine.Engine).Mutex
	for _, r := range []rivalry{
		{"spin", spin, 1, 1, 2 * time.Second},
		{"spin", spin, 4, 4, 5 * time.Second},
		{"lock", plain, 1, 4, 3 * time.Second},
	} {
		t.Run(fmt.Sprintf("%s, names %d, threads %d", r.kind, r.names, r.threads), func(t *testing.T) { r.run(t, p) })
	}
}

func (r rivalry) run(t *testing.T, p *pair) {
	what := fmt.Sprintf("share:%s:%d:%d", r.kind, r.names, r.threads)
	f := newFight(t, p, what, max(contention(t), 6*time.Second)) // the first second may be ours alone
	f.names = nil
	for n := range r.names {
		f.names = append(f.names, fmt.Sprintf("%s:%d", what, n))
	}
	f.redisson(r.kind, r.threads, "-", fmt.Sprint(holdTime.Milliseconds()))
	f.ours(ourCallers, func(name string) (func() error, error) {
		return entered(r.lock(p.Engine, name).Lock(context.Background()))
	}, func(name string) bool {
		defer time.Sleep(holdTime)
		return f.add(name)
	})
	f.end(true)
	grants := Field(t, f.said[0], "sections")
	all := grants + int64(f.entered)
	if 3*grants*int64(r.threads+ourCallers) < all*int64(r.threads) {
		t.Errorf("%d of %d callers had %d of %d grants", r.threads, r.threads+ourCallers, grants, all)
	}
	if waited := time.Duration(Field(t, f.said[0], "maxWaitMs")) * time.Millisecond; r.longest > 0 && waited > r.longest {
		t.Errorf("a thread of Redisson waited for %v", waited)
	}
}
