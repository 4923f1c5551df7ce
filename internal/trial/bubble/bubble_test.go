package bubble

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/wheellock/wheellock/internal/redismodel"
)

var (
	seed   = flag.Uint64("seed", 0, "the first seed; 0: 1")
	length = flag.Duration("for", 30*time.Minute, "virtual time, in all")
	trace  = flag.Bool("trace", false, "print the events of every world")
	events = flag.Int("events", 200, "how many events are printed when something is wrong")
)

func init() {
	flag.StringVar(onlyKind, "kind", "", "the only kind of names, such as rw")
}

func TestMain(m *testing.M) {
	flag.Parse()
	ants.Release() // its goroutines are outside of any bubble
	os.Exit(m.Run())
}

// hundredth is how often a world has a hundred engines, which takes as long as some others, and how often one is crowded.
const hundredth = 20

// Whole engines keep their promises in virtual time, whatever befalls them.
func TestBubble(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first := max(*seed, 1)
	began := time.Now()
	var virtual time.Duration
	worlds, pairs, gap := 0, 0, time.Duration(0)
	in := redismodel.NewInterpreter()
	for s := first; virtual < *length; s++ {
		draws := draw
		switch {
		case s%hundredth == 0 && *onlyKind == "":
			draws = hundred(lineKinds[s/hundredth%uint64(len(lineKinds))])
		case s%hundredth == hundredth/2 && (*onlyKind == "" || *onlyKind == multiKind.String()):
			draws = crowded
		}
		w := live(t, s, in, draws)
		virtual += w.lived
		worlds, pairs, gap = worlds+1, pairs+w.pairs, max(gap, w.gap)
		if *trace {
			t.Logf("seed %d:\n%s", s, w.list(mostEvents))
		}
		if w.failed() {
			t.Fatalf("seed %d, after %d worlds:\n%s\n%s", s, worlds, w.list(*events), strings.Join(w.wrong, "\n"))
		}
	}
	t.Logf("%d worlds from seed %d on, %.2f virtual hours in %v; %d pairs in fair queues, longest gap %v; stalls %t", worlds, first, virtual.Hours(),
		time.Since(began).Round(time.Millisecond), pairs, gap, stalls)
}

// briefKinds are those of which a run of less than an hour has a hundred engines: the others stand in line by the same code.
var briefKinds = []kind{mutexKind, semaphoreKind}

// A hundred engines want one name, of each kind for which they stand in line.
func TestBubbleOfAHundredEngines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	in := redismodel.NewInterpreter()
	kinds := lineKinds
	if *length < time.Hour {
		kinds = briefKinds
	}
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			began := time.Now()
			s := max(*seed, 1)
			w := live(t, s, in, hundred(k))
			if w.failed() {
				t.Fatalf("seed %d:\n%s\n%s", s, w.list(*events), strings.Join(w.wrong, "\n"))
			}
			granted, engines := w.judge.grants()
			t.Logf("%v of virtual time in %v; %d grants to %d engines, longest gap %v; stalls %t", w.lived, time.Since(began).Round(time.Millisecond), granted, engines, w.gap, stalls)
			if engines < w.plan.processes/2 {
				t.Errorf("only %d engines ever had it", engines)
			}
		})
	}
}

// live is the life of the world of a seed, whose plan is drawn.
func live(t *testing.T, s uint64, in *redismodel.Interpreter, draws func(*rand.Rand) plan) (w *World) {
	watched := watch(s)
	defer watched.stop()
	defer func() { // the bubble ends with goroutines left
		if gone := recover(); gone != nil {
			fmt.Fprintf(os.Stderr, "seed %d: %v\n%s\n%s\n", s, gone, w.list(*events), strings.Join(w.wrong, "\n"))
			os.Exit(1)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(s, in, draws)
		watched.on(w)
		w.run()
		w.lived = time.Since(w.began)
	})
	debug.FreeOSMemory()
	return w
}
