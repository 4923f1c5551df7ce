package gate

import (
	"flag"
	"fmt"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

var rwSeeds = flag.Int("rwseeds", 0, "how many seeds TestRWReplay replays; 0: 30, or 150 with -gate.long")

var rwSeed = flag.Uint64("rwseed", 0, "replay one seed of TestRWReplay, and tell what happened")

// Any order of requests, answers, losses, messages and time leaves readers and writers apart, nobody forgotten and
// nothing behind.
// invariant: readers-share-one-tenure
func TestRWReplay(t *testing.T) {
	t.Parallel()
	replay := func(seed uint64) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newRWWorld(t, seed)
			w.lossy = seed%8 == 7
			for range 400 {
				w.turn(seed%2 == 0)
			}
			if seed%5 == 4 {
				for _, p := range w.procs {
					p.closed = true
					p.step("closes", func(fx *Effects) { p.rw.Close(w.now, fx) })
					p.wishes, p.listens = nil, false // its connection closes with the engine
					w.redis.unsubscribe(scripts.RWChannel(stock), p)
				}
			}
			w.settle()
			if *rwSeed != 0 {
				t.Log(w.diary.String())
			}
		})
	}
	if *rwSeed != 0 {
		replay(*rwSeed)
		return
	}
	n := *rwSeeds
	if n == 0 {
		n = usually(30, 150)
	}
	for seed := uint64(1); seed <= uint64(n); seed++ {
		replay(seed)
	}
}
