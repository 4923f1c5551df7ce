package main

import (
	"context"
	"image/color"
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
	module   string // whose version the report prints; may be empty
	settings string // what was set, other than lease and longest wait
	lacks    string // what it does not do
	color    color.Color
	commands []string // what it sends outside of scripts; without it, only script calls count as commands

	// Exactly one of these is set.
	open    func(work) Contestant                                // runs in a child process
	drive   func(url string) (loadDriver, error)                 // in a child process too, but makes its own load
	measure func(context.Context, *session) (measurement, error) // a program of its own, watched from here
	takes   func(work) bool                                      // the works it takes part in; nil: all of plain locks but asynchronous
}

// A loadDriver makes load on its own and tells the meter, until the meter says stop.
type loadDriver func(ctx context.Context, m *meter) error

// contestants lists who takes part, in the order of their turns.
func contestants() []entry {
	all := slices.Clone(ours())
	return append(all, rueidislockEntry, redislockEntry, redislockAutoPipelineEntry, redsyncEntry,
		rawSequenceEntry, rawClaimEntry, pipelineEntry, pipelineManyEntry, redisBenchmarkEntry)
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
	return w.Load != asynchronous && w.Kind == ""
}

// The colours of Okabe and Ito (wheellock has their vermilion): told apart also by the colour-blind. Ceilings are grey.
var (
	blue      = color.RGBA{G: 0x72, B: 0xB2, A: 0xFF}
	green     = color.RGBA{G: 0x9E, B: 0x73, A: 0xFF}
	sky       = color.RGBA{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF}
	orange    = color.RGBA{R: 0xE6, G: 0x9F, A: 0xFF}
	purple    = color.RGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF}
	grey      = color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xFF}
	lightGrey = color.RGBA{R: 0xBB, G: 0xBB, B: 0xBB, A: 0xFF}
	paleGrey  = color.RGBA{R: 0xDD, G: 0xDD, B: 0xDD, A: 0xFF}
)
