package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// world is one Redis and the processes that contend there, in simulated time: it moves only when a test
// says so. Everything that happens is written down, and every rule is checked after every step.
type world struct {
	now    time.Duration // real time since the world began
	redis  *redis
	kind   Kind // of its names
	procs  []*process
	diary  strings.Builder
	silent bool              // the diary is not kept: who needs it plays the same again
	broken func(rule string) // a rule does not hold; does not return
	lossy  bool              // keys vanish behind everybody's back: who holds them is not promised to know

	token   int64          // the last fencing token a caller was given
	tokens  map[int64]bool // all of them
	granted []*caller      // since somebody last looked
}

// stock is the name that tests fight for when one is enough.
const stock = "stock:7"

// newWorld makes a world for a test that plays all parts itself.
func newWorld(t *testing.T) *world {
	w := bareWorld()
	w.broken = func(rule string) {
		t.Helper()
		t.Fatalf("%s\n%s", rule, w.diary.String())
	}
	return w
}

// playWorld runs a part of a test in a world of its own, and lets it come to rest.
func playWorld(t *testing.T, name string, play func(w *world)) {
	t.Run(name, func(t *testing.T) {
		w := newWorld(t)
		play(w)
		w.settle()
	})
}

func bareWorld() *world {
	w := &world{now: time.Second, tokens: make(map[int64]bool)}
	w.redis = newRedis(&w.now)
	return w
}

func (w *world) note(format string, args ...any) {
	if w.silent {
		return
	}
	fmt.Fprintf(&w.diary, "%12v  %s\n", w.now, fmt.Sprintf(format, args...))
}

// pass lets time go by without waking anybody.
func (w *world) pass(d time.Duration) { w.passTo(w.now + d) }

// passTo stops at every millisecond in which a key has just run out, to see who still believes in it.
func (w *world) passTo(at time.Duration) {
	for {
		next := at
		for _, k := range w.redis.standing() {
			if gone := time.Duration(k.until+1-serverEpoch) * time.Millisecond; gone > w.now {
				next = min(next, gone)
			}
		}
		w.now = max(w.now, next)
		if w.now >= at {
			return
		}
		w.check()
	}
}

// after lets time go by and wakes everybody on time, the nearest first.
func (w *world) after(d time.Duration) {
	end := w.now + d
	for {
		at, who, entry := w.nextAlarm()
		if at > end {
			break
		}
		w.passTo(max(at, w.now))
		who.wake(entry)
	}
	w.passTo(end)
	w.check()
}

// nextAlarm is the first instant at which a machine wants to be woken.
func (w *world) nextAlarm() (at time.Duration, who *process, entry *Entry) {
	at = Never
	for _, p := range w.procs {
		for _, name := range p.names() {
			if t := p.real(p.entries[name].Machine.NextAlarm()); t < at {
				at, who, entry = t, p, p.entries[name]
			}
		}
	}
	return at, who, entry
}
