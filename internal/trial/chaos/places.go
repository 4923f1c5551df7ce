package chaos

import (
	"fmt"
	"time"
)

// kind is what a name is used as.
type kind string

const (
	mutexes    kind = "mutex"
	reentrant  kind = "reentrant"
	fenced     kind = "fenced"
	fairs      kind = "fair"
	rws        kind = "rw"
	semaphores kind = "semaphore"
	permits    kind = "permits"
	spins      kind = "spin"     // of a soak alone, as the next ones
	distinct   kind = "distinct" // a mutex that nobody else asks for, and nobody ever again
	callbacks  kind = "callback" // mutexes that are taken and given back in callbacks
)

// place is a name that clients contend for.
type place struct {
	Kind    kind
	Name    string
	Permits int // of semaphores
}

// places makes the names of a phase: each kind, several times.
func places(kinds []kind, each int) []place {
	var all []place
	for _, k := range kinds {
		for i := range each {
			p := place{Kind: k, Name: fmt.Sprintf("%s:%d", k, i)}
			if k == semaphores || k == permits {
				p.Permits = 3
			}
			all = append(all, p)
		}
	}
	return all
}

// habits is how clients behave: shares of a thousand, and times.
type habits struct {
	Try, Wait, CtxEnd, Drop int // of calls; the rest waits without bound
	Fixed                   int // of holds: a fixed lease, at least Shortest
	Forget                  int // of those: is left to run out
	Extend                  int // of those: is extended
	Middle                  int // of holds: lasts up to MiddleHold
	Long                    int // of holds: lasts up to LongHold
	DeadCtx                 int // of unlocks: under a context that has ended
	MiddleHold, LongHold    time.Duration
	Shortest                time.Duration
	WaitFor                 time.Duration // of those that wait, at most
	CtxEndIn                time.Duration // contexts end within this
	Pause                   time.Duration // between two calls of a worker, at most
}

// everyday is the mix of a phase that says nothing else.
var everyday = habits{Try: 250, Wait: 200, CtxEnd: 150, Drop: 100, Fixed: 300, Forget: 5, Extend: 100, Middle: 30, Long: 3,
	DeadCtx: 50, MiddleHold: 30 * time.Millisecond, LongHold: 1500 * time.Millisecond, Shortest: 100 * time.Millisecond, WaitFor: 500 * time.Millisecond, CtxEndIn: 40 * time.Millisecond}

// eager is the mix of callers who all want the same lock, for moments: they wait, so that a call that nobody serves costs
// nothing.
var eager = habits{Middle: 1000, MiddleHold: 2 * time.Millisecond}

// setting is what a client process is told at its start.
type setting struct {
	Number  int
	Seed    uint64
	Addr    string // of Redis
	Workers int
	Hot     bool // keep to one name
	Lease   time.Duration
	Places  []place
	Habits  habits
	Sample  time.Duration // how often it says what it takes, and then nothing of its calls; 0: never
}
