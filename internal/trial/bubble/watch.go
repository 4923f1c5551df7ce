package bubble

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// watcher looks from outside of the bubble whether time passes inside, and what it takes.
type watcher struct {
	seed uint64
	w    atomic.Pointer[World]
	end  chan struct{}
}

const (
	// stuckTime is how much time of the processors a bubble may take while time stands still in it. A busy machine, or one that stops
	// this process, lets no time pass either.
	stuckTime = 8 * time.Second
	// mostMemory is what a bubble may take.
	mostMemory = 2 << 30
	// endTime is how many seconds a world has to end after something was wrong.
	endTime = 5
)

func watch(seed uint64) *watcher {
	o := &watcher{seed: seed, end: make(chan struct{})}
	go o.run()
	return o
}

func (o *watcher) on(w *World) { o.w.Store(w) }

func (o *watcher) stop() { close(o.end) }

func (o *watcher) run() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, since, ending := int64(-1), usage.Now().CPU, 0
	for {
		select {
		case <-o.end:
			return
		case <-tick.C:
		}
		w := o.w.Load()
		if w == nil {
			continue
		}
		if now := w.pulse.Load(); now != last {
			last, since = now, usage.Now().CPU
		} else if usage.Now().CPU-since > stuckTime {
			o.give(w, "time stands still")
		}
		if w.failed() {
			if ending++; ending > endTime {
				o.give(w, "it does not end")
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > mostMemory {
			o.give(w, fmt.Sprintf("%d MB of memory", m.HeapAlloc>>20))
		}
	}
}

// give ends the process: what runs in the bubble cannot be ended.
func (o *watcher) give(w *World, why string) {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	fmt.Fprintf(os.Stderr, "%s\nseed %d at %v: spin: %s\n%s\n", b, o.seed, time.Duration(w.pulse.Load()), why, strings.Join(w.wrong, "\n"))
	fmt.Fprintf(os.Stderr, "%s\n", w.list(200))
	os.Exit(1)
}
