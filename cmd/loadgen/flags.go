package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/flagset"
	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/load"
)

// settings are what the flags say.
type settings struct {
	plan    load.Plan
	redis   redisflags.Flags // without URL: a Redis of our own
	masters []string         // URLs of the other servers of a quorum
	json    string           // file; empty: none, "-": standard output
	html    string           // file; empty: none
	title   string           // of the results; empty: none
	repeat  int
	fail    []report.Threshold
}

// The bounds of what can be asked for: a million names are 64 MB of cells, a million callers as many stacks.
const (
	maxMany      = 1_000_000
	maxProcesses = 64
	maxRepeat    = 100
	maxSteps     = 100
	maxRate      = 10_000_000
	maxDuration  = 24 * time.Hour
)

// bound is a count that must be from 1 to most.
type bound struct {
	name  string
	value *int
	usual int
	most  int
}

// define says which flags there are, and their defaults. What they mean is in help.go.
func define(s *settings) (*flag.FlagSet, []bound) {
	p := &s.plan
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	flags.StringVar(&s.redis.URL, "redis", "", "") // and no variable: a server is loaded if this command line names it
	s.redis.Define(flags)
	flags.StringVar(&s.json, "json", "", "")
	flags.StringVar(&s.html, "html", "", "")
	flags.StringVar(&s.title, "title", "", "")
	flags.BoolVar(&p.Async, "async", false, "")
	flags.Uint64Var(&p.Seed, "seed", rand.Uint64N(1e6), "")
	bounds := []bound{{"workers", &p.Workers, 64, maxMany}, {"names", &p.Names, 16, maxMany}, {"processes", &p.Processes, 1, maxProcesses}, {"repeat", &s.repeat, 1, maxRepeat}}
	p.Duration, p.Warmup, p.Kind = 10*time.Second, time.Second, load.Mutex
	readers := map[string]reader{
		"hold": duration(&p.Hold), "think": duration(&p.Think), "lease": duration(&p.Lease), "wait": duration(&p.Wait),
		"duration": duration(&p.Duration), "warmup": duration(&p.Warmup), "handoff": handoff(&p.Handoff),
		"zipf": decimal(&p.Zipf), "readers": decimal(&p.Readers),
		"permits": count(&p.Permits), "check": count(&p.Check), "kind": kind(&p.Kind),
	}
	for _, b := range bounds {
		*b.value = b.usual
		readers[b.name] = count(b.value)
	}
	readers["workers"] = growing(count, &p.From, &p.Workers, "a whole number, such as 64, or two, such as 8..512")
	readers["rate"] = growing(decimal, &p.FromRate, &p.Rate, "a number, such as 20k, or two, such as 1k..64k")
	readers["steps"] = count(&p.Steps)
	readers["fail"], readers["master"] = threshold(&s.fail, report.ParseThreshold), list(&s.masters)
	for name, read := range readers {
		flags.Func(name, "", read)
	}
	return flags, bounds
}

// parse reads the flags. All complaints are in one error, of one line.
func parse(args []string) (settings, error) {
	s := settings{}
	flags, bounds := define(&s)
	if err := flagset.Parse(flags, args); err != nil {
		return s, err
	}
	given := make(map[string]bool) // a default may depend on other flags, so it matters whether a flag was given, not only its value
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var complaints []string
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	if flags.NArg() > 0 {
		complain("what is %q? everything is said with flags%s", flags.Arg(0), flagset.Suggest(flags.Arg(0), []string{"compare"}))
	}
	for _, b := range bounds {
		if *b.value < 1 || *b.value > b.most {
			complain("--%s %d: must be from 1 to %d", b.name, *b.value, b.most)
		}
	}
	checkPlan(&s.plan, given, complain)
	checkKind(&s.plan, given, complain)
	checkRedis(&s, given, complain)
	for name, file := range map[string]string{"json": s.json, "html": s.html} {
		if given[name] && file == "" {
			complain("--%s names no file", name)
		}
	}
	if s.json != "" && s.html != "" && filepath.Clean(s.json) == filepath.Clean(s.html) {
		complain("--json %s and --html %s: each needs a file of its own", s.json, s.html)
	}
	if len(complaints) > 0 {
		return s, errors.New(strings.Join(complaints, "; "))
	}
	return s, nil
}

// checkPlan completes a plan and complains of what cannot be. Some of it would run without an error, and mislead: a
// think time, say, which in an open loop keeps callers from calls that are due.
func checkPlan(p *load.Plan, given map[string]bool, complain func(string, ...any)) {
	if p.Workers < p.Processes && p.Workers > 0 {
		complain("--workers %d for --processes %d: each needs one at least", p.Workers, p.Processes)
	}
	if p.Zipf < 0 || p.Zipf > 10 {
		complain("--zipf %g: must be from 0 (all names alike) to 10", p.Zipf)
	}
	if given["rate"] && (p.Rate <= 0 || p.Rate > maxRate) {
		complain("--rate %g: must be above 0, and at most %d calls a second", p.Rate, maxRate)
	}
	if given["rate"] && given["think"] {
		complain("--think with --rate: in an open loop the schedule alone says when a call is due")
	}
	if p.Duration < 10*time.Millisecond || p.Duration > maxDuration {
		complain("--duration %v: must be from 10ms to %v", p.Duration, maxDuration)
	}
	for _, d := range []struct {
		name string
		time time.Duration
	}{{"hold", p.Hold}, {"think", p.Think}, {"wait", p.Wait}, {"warmup", p.Warmup}} {
		if d.time < 0 || d.time > maxDuration {
			complain("--%s %v: must be from 0 to %v", d.name, d.time, maxDuration)
		}
	}
	if given["lease"] {
		checkLease(p, complain)
	}
	if p.Handoff > load.WatchedLease/10 {
		complain("--handoff %v: at most %v, or off", p.Handoff, load.WatchedLease/10)
	}
	checkSteps(p, given, complain)
	checkCheck(p, given, complain)
}

// usualSteps is in how many steps a load grows.
const usualSteps = 5

// checkSteps completes and checks how callers or calls grow.
func checkSteps(p *load.Plan, given map[string]bool, complain func(string, ...any)) {
	if p.From == 0 && p.FromRate == 0 {
		if given["steps"] {
			complain("--steps %d: it belongs to a load that grows, such as --workers 8..512 or --rate 1k..64k", p.Steps)
		}
		return
	}
	if !given["steps"] {
		p.Steps = usualSteps
	}
	switch {
	case p.FromRate >= p.Rate && p.FromRate > 0:
		complain("--rate %g..%g: it grows from the first to the second", p.FromRate, p.Rate)
	case p.From == 0:
	case p.From >= p.Workers:
		complain("--workers %d..%d: they grow from the first to the second", p.From, p.Workers)
	case p.From < p.Processes:
		complain("--workers %d..%d for --processes %d: each needs one from the beginning", p.From, p.Workers, p.Processes)
	case given["rate"]:
		complain("--workers %d..%d with --rate: in an open loop the schedule alone says how much is asked for", p.From, p.Workers)
	}
	if p.Steps < 2 || p.Steps > maxSteps {
		complain("--steps %d: must be from 2 to %d", p.Steps, maxSteps)
	} else if least := 100 * time.Millisecond; p.Duration/time.Duration(p.Steps) < least {
		complain("--duration %v for --steps %d: each lasts %v at least", p.Duration, p.Steps, least)
	}
}

// checkLease refuses leases that the engine refuses, and those under which no hold can be given back in time.
func checkLease(p *load.Plan, complain func(string, ...any)) {
	switch {
	case p.Lease < engine.MinLease || p.Lease > engine.MaxLease:
		complain("--lease %v: must be from %v to %v", p.Lease, engine.MinLease, engine.MaxLease)
	case p.Lease-margin(p.Lease) <= p.Hold:
		complain("--lease %v with --hold %v: every hold would end before its holder is done (it ends %v before the lease)", p.Lease, p.Hold, margin(p.Lease))
	}
}

// margin is how long before its lease a hold ends at the latest: see engine.Hold.Deadline.
func margin(lease time.Duration) time.Duration { return max(lease/100, 5*time.Millisecond) }

// leastCheck is the least that is checked in Redis across processes: one in so many. Where memory cannot be shared, the counter in
// Redis alone sees two processes in one section.
const leastCheck = 10

// checkCheck sets how many sections are checked in Redis. Of one process it is one in 100: the cells see every section already.
func checkCheck(p *load.Plan, given map[string]bool, complain func(string, ...any)) {
	switch {
	case p.Kind == load.Latch && !given["check"]:
		p.Check = 0 // there is nothing to count
	case p.Kind == load.Latch && p.Check != 0:
		complain("--check %d with --kind latch: who passes a latch cannot be counted", p.Check)
	case p.Kind == load.Latch:
	case !given["check"] && p.Processes > 1:
		p.Check = leastCheck
	case !given["check"]:
		p.Check = 100
	case p.Check < 0 || p.Check > maxMany:
		complain("--check %d: must be from 1 (every section) to %d, or 0 for none", p.Check, maxMany)
	case p.Processes > 1 && (p.Check == 0 || p.Check > leastCheck):
		complain("--check %d with --processes %d: across processes it must be from 1 to %d", p.Check, p.Processes, leastCheck)
	}
}

func checkRedis(s *settings, given map[string]bool, complain func(string, ...any)) {
	checkMasters(s, given, complain)
	switch {
	case s.redis == (redisflags.Flags{}) && !given["redis"]:
	case s.redis.URL == "" && !given["redis"]:
		complain("--user, --password-file, --cacert, --cert and --key belong to a --redis")
	case s.redis.URL == "":
		complain("--redis is empty: name a server, or leave the flag out for a private one")
	case s.plan.Processes > 1 && s.redis.Piped():
		complain("--password-file, --cacert, --cert and --key with --processes %d: of a pipe one process reads what is in it; name a file", s.plan.Processes)
	default:
		if _, err := s.redis.Options(); err != nil {
			complain("%v", err)
		}
	}
}

// leastMasters is from how many servers on there is a majority that outlasts one of them.
const leastMasters = 3

// checkMasters checks the servers of a quorum.
func checkMasters(s *settings, given map[string]bool, complain func(string, ...any)) {
	switch {
	case given["master"] && s.plan.Kind != load.Quorum:
		complain("--master with --kind %s: only quorum has several servers", s.plan.Kind)
	case given["master"] && s.redis.URL == "":
		complain("--master without --redis: name the first server with --redis")
	case s.plan.Kind == load.Quorum && s.redis.URL != "" && 1+len(s.masters) < leastMasters:
		complain("--kind quorum with --redis: name the other servers with --master, two at least")
	}
	for i := range s.masters {
		f := s.master(i)
		if _, err := f.Options(); err != nil {
			complain("--master: %v", strings.TrimPrefix(err.Error(), "--redis: "))
		}
	}
}

// master is how the i-th other server of a quorum is reached: with the user, password and files of the first.
func (s *settings) master(i int) redisflags.Flags {
	f := s.redis
	f.URL = s.masters[i]
	return f
}
