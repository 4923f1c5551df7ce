package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/wheellock/wheellock/internal/load"
)

// What every contestant is given. redsync, redislock and rueidislock differ in their defaults (8 s, none, 5 s).
const (
	lease    = 30 * time.Second
	longWait = 30 * time.Second // a caller that waits longer gives up
)

// An entry is a contestant in the list: how to open it and what the report says about it.
type entry struct {
	name     string
	module   string   // whose version the report prints; may be empty
	settings string   // what was set, other than lease and longest wait
	lacks    string   // what it does not do
	title    string   // in pictures; empty: no lock library, and in none
	commands []string // what it sends outside of scripts; without it, only script calls count as commands

	// Exactly one of these is set.
	kind    load.Kind                                         // of the engine's locks, where the work does not name one
	open    func(url string) (load.Library, error)            // in a child process; a lock that was not had within longWait is an error
	measure func(context.Context, *turn) (measurement, error) // it makes its own load
	takes   func(work) bool                                   // the works it takes part in; nil: all of plain locks but asynchronous

	// Of libraries that guard requests through an outage.
	guard   func(url string, work http.Handler) (site, error) // runs in a child process
	guarded string                                            // what was set for that
}

// contestants lists who takes part, in the order of their turns.
func contestants() []entry {
	return []entry{wheellockEntry, wheellockSimpleEntry, rueidislockEntry, redislockEntry, redislockEachMsEntry, redislockAutoPipelineEntry, redsyncEntry,
		rawSequenceEntry, rawClaimEntry, pipelineEntry, pipelineManyEntry}
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
