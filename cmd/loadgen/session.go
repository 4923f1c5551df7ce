package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/load/crew"
)

// session is one run of the load, from the server's start to what it left; series.go has several. One goroutine owns it. A run:
//
//  1. reach connects to the named Redis, or starts one. A new random prefix keeps the keys of this run apart from all others.
//  2. load opens the callers, in this process (solo) or in children (crew): each process opens its load.Rig. All of them are connected
//     before the first caller asks for a lock.
//  3. The processes run the warm-up, the measured time and the drain by their own clocks. Each sends a load.Sample every second.
//  4. follow gives the samples to the report.Collector. It sums an interval once all processes have sent theirs; then the interval is a
//     line of the live table.
//  5. When the warm-up is over in all processes, and again when the measured time is, the server's counters are read. Their
//     difference is what the load cost Redis.
//  6. leftovers looks for keys with the prefix, when nobody holds anything any more.
//  7. account makes the report.Result of all this. series prints its table, and verdict turns it into the exit code.
type session struct {
	end, hurry     context.Context
	self           string // the program, for the processes it starts for itself
	stdout, stderr io.Writer
	nameFor        func(caller, name int) string // tests plant locks that do not exclude
	programs       []string                      // that processes of a crew run in turn; nil: self. A test mixes versions

	settings settings
	plan     *load.Plan // with the prefix of this run
	out      io.Writer  // where the table goes
	width    int        // of that terminal; 0: not a terminal
	round    int        // which of several this is, from 0
	target   *target.Target
	live     *report.Live
	sums     *report.Collector
	facts    report.Facts

	before, after target.Reading // of the server, around what is measured
}

// callers are those of a run, in this process or in others.
type callers interface {
	// Begin sets them going.
	Begin()
	// Events tells what they do, in the order of each process; it is closed after the last of all.
	Events() <-chan crew.Event
	// Stop ends the load early; with hurry, without waiting for the last calls.
	Stop(hurry bool)
}

// measure runs the load and says how it went. An error means that there is nothing to tell.
func (s *session) measure() (result *report.Result, err error) {
	s.before, s.after = target.Reading{}, target.Reading{}
	if s.target, err = s.reach(); err != nil {
		if s.end.Err() != nil {
			err = errors.New("interrupted before the load began")
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, s.target.Close()) }()
	p := s.settings.plan
	p.Prefix = "loadgen:" + rand.Text()[:10] + ":"
	s.plan = &p
	s.announce()
	s.facts = report.Facts{
		Title: s.settings.title, Started: time.Now(), Plan: p, Died: make(map[int]string),
		Server: report.Server{Kind: s.target.Kind, Place: s.target.Where(), Product: s.target.Product, Version: s.target.Version, Meaning: s.target.Meaning()},
	}
	s.live = report.NewLive(s.out, &p, s.width)
	s.sums = report.NewCollector(p.Processes)
	problems, err := s.load()
	s.live.End()
	if err != nil {
		return nil, err
	}
	return s.account(problems), nil
}

// announce says what is about to run, and where; of several runs the first says it for all.
func (s *session) announce() {
	if s.round == 0 {
		fmt.Fprintln(s.out, report.Wrap("loadgen: ", s.target.Meaning(), s.width))
		if s.settings.redis.URL == "" && os.Getenv(redisflags.URLVariable) != "" {
			fmt.Fprintln(s.out, report.Wrap("", "the server in "+redisflags.URLVariable+" is not loaded: only --redis names one", s.width))
		}
		fmt.Fprintln(s.out, report.Wrap("", report.Describe(s.plan), s.width))
	}
	if s.target.Kind == target.Given {
		fmt.Fprintln(s.out, report.Wrap("", "every key of this run has "+s.plan.Prefix+" in its name", s.width))
	}
	fmt.Fprintln(s.out)
}

// reach connects to the Redis that was named, or starts one.
func (s *session) reach() (*target.Target, error) {
	ctx, cancel := context.WithTimeout(s.end, 30*time.Second)
	defer cancel()
	set := &s.settings
	one := func(i int) (*target.Target, error) {
		switch {
		case set.redis.URL == "":
			return target.Own(ctx, []string{s.self, keeperRole})
		case i == 0:
			return target.Connect(ctx, set.redis)
		default:
			return target.Connect(ctx, set.master(i-1))
		}
	}
	if set.plan.Kind == load.Quorum {
		return target.Quorum(max(leastMasters, 1+len(set.masters)), one)
	}
	return one(0)
}

// load opens the callers, runs them and follows them to their end.
func (s *session) load() (problems []string, err error) {
	open := openSolo
	if s.plan.Processes > 1 {
		open = openCrew
	}
	callers, err := open(s)
	if err != nil {
		return nil, err
	}
	if s.plan.Warmup == 0 {
		s.before = s.read()
	}
	callers.Begin()
	return s.follow(callers), nil
}

// account looks at what is left in Redis and draws up the result.
func (s *session) account(problems []string) *report.Result {
	left, permits, err := s.leftovers()
	if err != nil {
		problems = append(problems, err.Error())
	}
	s.facts.Redis, s.facts.KeysLeft, s.facts.PermitsWrong, s.facts.Problems = s.after.Since(s.before), left, permits, problems
	return s.sums.Account(&s.facts)
}
