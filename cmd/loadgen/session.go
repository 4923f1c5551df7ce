package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
)

// session is one run of loadgen, from its flags to the verdict. One goroutine owns it.
type session struct {
	end, hurry     context.Context
	self           string // the program, for the processes it starts for itself
	stdout, stderr io.Writer
	nameFor        func(caller, name int) string // tests plant locks that do not exclude

	settings settings
	out      io.Writer // where the table goes
	target   *target.Target
	live     *report.Live
	sums     *report.Collector
	facts    report.Facts

	before, after target.Reading // of the server, around what is measured
}

// callers are those of a run, in this process or in others.
type callers interface {
	// begin sets them going.
	begin() error
	// events tells what they do, in the order of each process; it is closed after the last of all.
	events() <-chan event
	// stop ends the load early; with hurry, without waiting for the last calls.
	stop(hurry bool)
}

// event is news of a process.
type event struct {
	process int
	sample  *load.Sample // or
	note    string       // something to tell, or
	died    string       // it ended too early, or
	gone    bool         // it ended
}

// measure runs the load and says how it went. An error means that there is nothing to tell.
func (s *session) measure() (result *report.Result, err error) {
	s.out = s.stdout
	sink, err := s.openJSON()
	if err != nil {
		return nil, err
	}
	if sink != nil {
		defer func() { err = errors.Join(err, sink.Close()) }()
	}
	if s.target, err = s.reach(); err != nil {
		if s.end.Err() != nil {
			err = errors.New("interrupted before the load began")
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, s.target.Close()) }()
	fmt.Fprintf(s.out, "loadgen: %s\n", s.target.Meaning())
	p := &s.settings.plan
	p.Prefix = "loadgen:" + rand.Text()[:10] + ":"
	fmt.Fprintln(s.out, report.Describe(p))
	if s.target.Kind == target.Given {
		fmt.Fprintf(s.out, "every key of this run has %s in its name\n", p.Prefix)
	}
	fmt.Fprintln(s.out)
	s.facts = report.Facts{
		Started: time.Now(), Plan: *p, Died: make(map[int]string),
		Server: report.Server{Kind: s.target.Kind, Place: s.target.Place, Version: s.target.Version, Meaning: s.target.Meaning()},
	}
	s.live = report.NewLive(s.out, p, widthOf(s.out))
	s.sums = report.NewCollector(p.Processes)
	problems, err := s.load()
	s.live.End()
	if err != nil {
		return nil, err
	}
	result = s.account(problems)
	fmt.Fprintln(s.out)
	result.Table(s.out)
	if sink != nil {
		err = writeJSON(sink, result)
	}
	return result, err
}

// reach connects to the Redis that was named, or starts one.
func (s *session) reach() (*target.Target, error) {
	ctx, cancel := context.WithTimeout(s.end, 30*time.Second)
	defer cancel()
	if s.settings.redis.URL != "" {
		return target.Connect(ctx, s.settings.redis)
	}
	return target.Own(ctx, []string{s.self, keeperRole})
}

// load opens the callers, runs them and follows them to their end.
func (s *session) load() (problems []string, err error) {
	open := openSolo
	if s.settings.plan.Processes > 1 {
		open = openCrew
	}
	callers, err := open(s)
	if err != nil {
		return nil, err
	}
	if s.settings.plan.Warmup == 0 {
		s.before = s.read()
	}
	if err := callers.begin(); err != nil {
		return nil, err
	}
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

// openJSON opens the file of --json, before anything is started: a run should not end with "no such directory".
func (s *session) openJSON() (io.WriteCloser, error) {
	switch s.settings.json {
	case "":
		return nil, nil
	case "-":
		s.out = s.stderr
		return open{s.stdout}, nil
	default:
		return os.Create(s.settings.json)
	}
}

// open is a writer that stays open.
type open struct{ io.Writer }

func (open) Close() error { return nil }

func writeJSON(w io.Writer, result *report.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// widthOf is the width of a terminal, or 0.
func widthOf(w io.Writer) int {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
