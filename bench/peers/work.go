package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wheellock/wheellock/internal/load"
)

// A work is one thing that all contestants do. The same work means: the same names, callers and processes.
type work struct {
	ID        string
	Title     string
	Load      way
	Kind      string // of the lock, as bench/redisson calls it; empty: a plain one
	Hot       int    // names that the callers fight for; 0: every call has a name of its own
	Processes int
	Callers   int           // in each process; for the asynchronous load, pairs in flight
	Fleet     bool          // each caller has a contestant of its own, as it would in a process of its own
	Inside    time.Duration // that a holder keeps the lock
	Limits    bool          // a name lets limitPermits in at once, if its kind can
}

// way is how callers call.
type way int

const (
	blocking     way = iota // a goroutine per caller, in a loop
	asynchronous            // futures with callbacks, no goroutine per caller
	handover                // two processes give one lock to and fro
)

// Kinds of locks, besides plain ones. The semaphores have one permit.
const (
	fenced    = "fenced"
	fair      = "fair"
	write     = "write"
	semaphore = "semaphore"
	permit    = "permit"
	quorum    = "quorum" // the majority of quorumServers
	limit     = "limit"
)

// kinds are those of the engine for these.
var kinds = map[string]load.Kind{
	fenced: load.Fenced, fair: load.Fair, write: load.RW, semaphore: load.Semaphore, permit: load.Permits, quorum: load.Quorum, limit: load.Limit,
}

const quorumServers = 3

// distinct are works of callers that do not meet.
var distinct = []work{
	{ID: "distinct-1", Title: "every call its own name, 1 caller", Processes: 1, Callers: 1},
	{ID: "distinct-2", Title: "every call its own name, 2 callers", Processes: 1, Callers: 2},
	{ID: "distinct-4", Title: "every call its own name, 4 callers", Processes: 1, Callers: 4},
	{ID: "distinct-8", Title: "every call its own name, 8 callers", Processes: 1, Callers: 8},
	{ID: "distinct-16", Title: "every call its own name, 16 callers", Processes: 1, Callers: 16},
	{ID: "distinct-64", Title: "every call its own name, 64 callers", Processes: 1, Callers: 64},
	{ID: "distinct-1024", Title: "every call its own name, 1024 callers", Processes: 1, Callers: 1024},
}

var allWorks = slices.Concat(distinct, []work{
	{ID: "distinct-async", Title: "every call its own name, 4096 in flight, futures instead of goroutines",
		Load: asynchronous, Processes: 1, Callers: 4096},
	{ID: "hot-64", Title: "one name, 64 callers in one process", Hot: 1, Processes: 1, Callers: 64},
	{ID: "hot16-1024", Title: "16 names, 64 callers for each, 1024 in one process", Hot: 16, Processes: 1, Callers: 1024},
	{ID: "hot-2p", Title: "one name, 2 processes with 32 callers each", Hot: 1, Processes: 2, Callers: 32},
	{ID: "handover", Title: "from unlock in one process to the grant in another, where one caller waits",
		Load: handover, Hot: 1, Processes: 2, Callers: 1},
	{ID: "handover-fenced", Title: "from unlock in one process to the grant in another, of a fenced lock", Load: handover, Kind: fenced, Hot: 1, Processes: 2, Callers: 1},
	{ID: "handover-fair", Title: "from unlock in one process to the grant in another, of a fair lock", Load: handover, Kind: fair, Hot: 1, Processes: 2, Callers: 1},
}, limits(), fleets())

// limitPermits is how many a limit lets in.
const limitPermits = 4

// limits are works of names that let several in, beside the locks that let one in.
func limits() (works []work) {
	for _, callers := range []int{1, 8} {
		title := "64 names, a caller for each"
		if callers > 1 {
			title = fmt.Sprintf("64 names, %d callers for each, of which a limit lets %d in at once", callers, limitPermits)
		}
		for _, kind := range []string{"", limit, permit} {
			works = append(works, work{
				ID: fmt.Sprintf("limits-%s-%d", cmp.Or(kind, plain), 64*callers), Title: title, Kind: kind, Limits: true,
				Hot: 64, Processes: 1, Callers: 64 * callers,
			})
		}
	}
	return works
}

// apart says whether no two callers of a work want the same name.
func (w work) apart() bool { return w.Hot == 0 || w.Hot == w.callers() }

// callers is how many callers a work has.
func (w work) callers() int { return w.Processes * w.Callers }

// plain reports whether a work is one of plain locks that every library can do.
func (w work) plain() bool { return w.Load != asynchronous && w.Kind == "" }

func workNamed(id string) (work, bool) {
	i := slices.IndexFunc(allWorks, func(w work) bool { return w.ID == id })
	if i < 0 {
		return work{}, false
	}
	return allWorks[i], true
}
