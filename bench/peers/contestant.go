package main

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// What every contestant is given. redsync, redislock and rueidislock differ in their defaults (8 s, none, 5 s).
const (
	lease    = 30 * time.Second
	longWait = 30 * time.Second // a caller that waits longer gives up
)

// A Contestant is a lock library, set up for one Redis. Pair may be called from any goroutine, also for one name.
type Contestant interface {
	Open(url string) error
	// Pair takes the lock, calls inside once while it has it, gives it back, and waits until that is done.
	// It ends early with an error when ctx ends or the lock was not had within longWait.
	Pair(ctx context.Context, name string, inside func()) error
	Close()
}

// An asyncContestant can do a pair without a goroutine that waits for it.
type asyncContestant interface {
	Contestant
	// PairAsync is Pair, but returns at once; inside and done are called from wherever the answers arrive.
	PairAsync(ctx context.Context, name string, inside func(), done func(error))
}

// An entry is a contestant in the list: how to open it and what the report says about it.
type entry struct {
	name     string
	module   string   // whose version the report prints; may be empty
	settings string   // what was set, other than lease and longest wait
	lacks    string   // what it does not do
	title    string   // in pictures; empty: no lock library, and in none
	commands []string // what it sends outside of scripts; without it, only script calls count as commands

	// Exactly one of these is set.
	open    func(work) Contestant                                // runs in a child process
	drive   func(url string) (loadDriver, error)                 // in a child process too, but makes its own load
	measure func(context.Context, *session) (measurement, error) // a program of its own, watched from here
	takes   func(work) bool                                      // the works it takes part in; nil: all of plain locks but asynchronous

	// Of libraries that guard requests through an outage.
	guard   func(url string, work http.Handler) (site, error) // runs in a child process
	guarded string                                            // what was set for that
}

// A loadDriver makes load on its own and tells the meter, until the meter says stop.
type loadDriver func(ctx context.Context, m *meter) error

// contestants lists who takes part, in the order of their turns.
func contestants() []entry {
	all := slices.Clone(ours())
	return append(all, rueidislockEntry, redislockEntry, redislockEachMsEntry, redislockAutoPipelineEntry, redsyncEntry,
		rawSequenceEntry, rawClaimEntry, pipelineEntry, pipelineManyEntry)
}

func entryNamed(name string) (entry, bool) {
	all := contestants()
	i := slices.IndexFunc(all, func(e entry) bool { return e.name == name })
	if i < 0 {
		return entry{}, false
	}
	return all[i], true
}

func (e entry) takesPart(w work) bool {
	if e.takes != nil {
		return e.takes(w)
	}
	return w.plain()
}
