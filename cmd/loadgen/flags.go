package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
	"github.com/wheellock/wheellock/engine"
)

// settings are what the flags say.
type settings struct {
	plan  load.Plan
	redis string // URL; empty: a Redis of our own
	json  string // file; empty: none, "-": standard output
}

// errHelp says that help was asked for.
var errHelp = flag.ErrHelp

// The bounds of what can be asked for: a million names are 64 MB of cells, a million callers as many stacks.
const (
	maxMany      = 1_000_000
	maxProcesses = 64
	maxRate      = 10_000_000
	maxDuration  = 24 * time.Hour
)

// parse reads the flags. All complaints are in one error, of one line.
func parse(args []string) (settings, error) {
	s := settings{}
	p := &s.plan
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&s.redis, "redis", "", "")
	flags.StringVar(&s.json, "json", "", "")
	flags.BoolVar(&p.Async, "async", false, "")
	counts := []struct {
		name  string
		value *int
		usual int
		most  int
	}{
		{"workers", &p.Workers, 64, maxMany}, {"names", &p.Names, 16, maxMany}, {"processes", &p.Processes, 1, maxProcesses},
	}
	for _, c := range counts {
		*c.value = c.usual
		flags.Var((*count)(c.value), c.name, "")
	}
	flags.Var((*count)(&p.Check), "check", "")
	for name, d := range map[string]*time.Duration{
		"hold": &p.Hold, "think": &p.Think, "lease": &p.Lease, "wait": &p.Wait, "duration": &p.Duration, "warmup": &p.Warmup,
	} {
		flags.Var((*duration)(d), name, "")
	}
	flags.Var((*handoff)(&p.Handoff), "handoff", "")
	p.Duration, p.Warmup = 10*time.Second, time.Second
	flags.Var((*decimal)(&p.Rate), "rate", "")
	flags.Var((*decimal)(&p.Zipf), "zipf", "")
	flags.Uint64Var(&p.Seed, "seed", rand.Uint64N(1e6), "")
	if err := flags.Parse(args); err != nil {
		return s, plainly(err)
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var complaints []string
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	if flags.NArg() > 0 {
		complain("what is %q? everything is said with flags", flags.Arg(0))
	}
	for _, c := range counts {
		if *c.value < 1 || *c.value > c.most {
			complain("--%s %d: must be from 1 to %d", c.name, *c.value, c.most)
		}
	}
	checkPlan(p, given, complain)
	checkRedis(&s, given, complain)
	if len(complaints) > 0 {
		return s, errors.New(strings.Join(complaints, "; "))
	}
	return s, nil
}

// checkPlan completes a plan and complains of what cannot be.
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
	checkCheck(p, given, complain)
}

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

// leastCheck is the least that is checked in Redis across processes: one in so many.
const leastCheck = 10

func checkCheck(p *load.Plan, given map[string]bool, complain func(string, ...any)) {
	switch {
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
	if given["json"] && s.json == "" {
		complain("--json names no file")
	}
	if !given["redis"] {
		return
	}
	if s.redis == "" {
		complain("--redis is empty: name a server, or leave the flag out for a private one")
	} else if _, err := engine.ParseURL(s.redis); err != nil {
		complain("--redis: %v", err)
	}
}

// plainly says what package flag says, in our words.
func plainly(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return errHelp
	}
	text := err.Error()
	text = strings.Replace(text, "flag provided but not defined: -", "there is no flag --", 1)
	text = strings.Replace(text, "flag needs an argument: -", "a value is missing after --", 1)
	return errors.New(strings.Replace(text, "for flag -", "for --", 1))
}

// duration is a flag.Value that explains itself.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time with its unit, such as 500us, 5ms or 1m30s")
	}
	*d = duration(v)
	return nil
}

// handoff is a duration that may be "off", which 0 means too.
type handoff time.Duration

func (h *handoff) String() string { return time.Duration(*h).String() }

func (h *handoff) Set(text string) error {
	if text != "off" {
		if err := (*duration)(h).Set(text); err != nil {
			return errors.New("want a time with its unit, such as 10ms, or off")
		}
	}
	if text == "off" || *h <= 0 {
		*h = -1
	}
	return nil
}

// count is a whole number, that may have a k or M behind it.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (c *count) Set(text string) error {
	v, err := number(text)
	if err != nil || v != float64(int(v)) {
		return errors.New("want a whole number, such as 64 or 10k")
	}
	*c = count(v)
	return nil
}

// decimal is a number, that may have a k or M behind it.
type decimal float64

func (d *decimal) String() string { return strconv.FormatFloat(float64(*d), 'g', -1, 64) }

func (d *decimal) Set(text string) error {
	v, err := number(text)
	if err != nil {
		return errors.New("want a number, such as 0.99 or 20k")
	}
	*d = decimal(v)
	return nil
}

func number(text string) (float64, error) {
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "M": 1e6} {
		if digits, found := strings.CutSuffix(text, suffix); found {
			text, factor = digits, f
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if v != v || v > 1e15 || v < -1e15 {
		err = strconv.ErrRange
	}
	return v * factor, err
}
