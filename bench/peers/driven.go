package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/wheellock/wheellock/internal/interop/driver"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// A driven contestant is a library of another language, in processes that obey the commands of bench/redisson/README.md. They make
// their own load: their times are of whole pairs, the names of their threads stay the same, and exclusion is not checked.
type driven struct {
	command func(*server) []string // starts a process
	warmUp  time.Duration          // before a turn, with the server near
}

const (
	// drivenPatience is for the start of a process, and for what it may need beyond warm-up and turn.
	drivenPatience = 30 * time.Second
	// drivenMemory is the shared memory in such a process, and sharedBytes its size; Handover.java says what is where.
	drivenMemory = "/dev/fd/3"
	sharedBytes  = 4096
)

// measure does a turn.
func (d driven) measure(ctx context.Context, s *turn) (m measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.warmUp+s.opts.length+drivenPatience)
	defer cancel()
	drivers, err := d.start(ctx, s.server, s.work.Processes)
	defer end(drivers)
	if err != nil {
		return m, err
	}
	return d.measureWith(s, drivers)
}

// start starts so many processes that share a memory. Those that have started are returned with an error, too.
func (d driven) start(ctx context.Context, s *server, processes int) (drivers []*driver.Driver, err error) {
	memory, err := sharedmem.File(sharedBytes)
	if err != nil {
		return nil, err
	}
	defer memory.Close() // they have it
	command := d.command(s)
	for range processes {
		process := exec.CommandContext(ctx, command[0], command[1:]...)
		process.ExtraFiles = []*os.File{memory}
		child.Apart(process) // Ctrl-C is for us alone
		started, err := driver.New(process)
		if err != nil {
			return drivers, err
		}
		drivers = append(drivers, started)
	}
	return drivers, nil
}

// end ends them; they have nothing more to say.
func end(drivers []*driver.Driver) {
	for _, d := range drivers {
		d.Kill()
		d.Close()
	}
}

// measureWith has the processes warm up, with the server near, and do the work.
func (d driven) measureWith(s *turn, drivers []*driver.Driver) (m measurement, err error) {
	warmUp := *s
	if s.work.Load == handover {
		warmUp.work.Load, warmUp.work.Callers = blocking, 4
	}
	s.server.bring(0)
	_, err = warmUp.load(drivers, d.warmUp)
	s.server.bring(s.opts.away)
	if err != nil {
		return m, err
	}
	before, err := s.server.Counters()
	if err != nil {
		return m, err
	}
	if m.samples, err = s.load(drivers, s.opts.length); err != nil {
		return m, err
	}
	after, err := s.server.Counters()
	m.redis = after.Since(before)
	return m, err
}

// load has all processes do the work at the same time.
func (s *turn) load(drivers []*driver.Driver, length time.Duration) (samples []load.Sample, err error) {
	name := fmt.Sprintf("%s%016d", freshPrefix(), 0)
	var coming []<-chan string
	for process, d := range drivers {
		coming = append(coming, d.Start("%s", s.order(name, process, length)))
	}
	for process, one := range coming {
		answer, ok := driver.Read(<-one)
		if !ok {
			return nil, fmt.Errorf("%s: %s", s.entry.name, answer)
		}
		measured, err := readDriven(answer)
		if err != nil {
			return nil, err
		}
		measured.Process = process
		samples = append(samples, *measured)
	}
	return samples, nil
}

// order is the command for a process.
func (s *turn) order(name string, process int, length time.Duration) string {
	kind := cmp.Or(s.work.Kind, "lock")
	if s.work.Load == handover {
		return fmt.Sprintf("handover %s %s %d %s %d %g", kind, name, process, drivenMemory, settle(s.opts.away).Milliseconds(), length.Seconds())
	}
	mode, inside := "distinct", ""
	if !s.work.apart() {
		mode = "hot"
	}
	if s.work.Inside > 0 {
		inside = fmt.Sprintf(" %d", s.work.Inside.Milliseconds())
	}
	return fmt.Sprintf("bench %s %s %d %g%s", kind, mode, s.work.Callers, length.Seconds(), inside)
}

// readDriven reads a sample as such a process writes it. Waits that are not a histogram are a list, in nanoseconds.
func readDriven(answer string) (*load.Sample, error) {
	var one struct {
		Seconds                     float64
		Pairs, Failed, Lost, Broken int64
		CallerPairs                 []int64
		Waits                       figures.Histogram
		Took                        []time.Duration
		Usage                       usage.Usage
	}
	if err := json.Unmarshal([]byte(answer), &one); err != nil {
		return nil, fmt.Errorf("reading %q: %w", answer, err)
	}
	if one.Seconds <= 0 {
		return nil, fmt.Errorf("no time was given: %q", answer)
	}
	for _, took := range one.Took {
		one.Waits.Record(took)
	}
	s := &load.Sample{Elapsed: time.Duration(one.Seconds * float64(time.Second)), Usage: one.Usage, Callers: one.CallerPairs}
	s.Counts = load.Counts{Pairs: one.Pairs, Failed: one.Failed, Lost: one.Lost, Breaches: load.Breaches{Violations: one.Broken}}
	s.Times.Acquire, s.Times.Across = one.Waits, one.Waits
	return s, nil
}
