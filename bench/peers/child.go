package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// childFlag makes this program a child: one contestant at one work, in a process of its own, so that processor
// time, allocations and garbage collection are that contestant's alone.
//
// Parent and child talk in lines. The parent sends a childSpec as JSON, then the words measure and stop; the child
// answers readyWord when it is warming up and a sample as JSON after stop, each behind linePrefix.
const (
	childFlag   = "--child"
	readyWord   = "ready"
	measureWord = "measure"
	stopWord    = "stop"
	linePrefix  = "peers> "
)

// farewell is how long callers get to end after the stop. What they do then is not counted.
const farewell = 2 * time.Second

type childSpec struct {
	URL        string
	Contestant string
	Work       string
	Process    int
	Prefix     string
	Shared     string // path of the shared memory
}

// A sample is what one process measured.
type sample struct {
	Process     int
	Seconds     float64
	Pairs       int64
	CallerPairs []int64
	Waits       []byte // an encoded histogram, ns
	CPUSeconds  float64
	Allocations uint64
	Bytes       uint64
	Collections uint32
	MaxRSSKB    int64
	Goroutines  int
	Failed      int64
	Failure     string
	Lost        int64
	Broken      int64
	Breach      string
}

// add sums up what several processes did; waits and the share of each caller stay apart.
func (s *sample) add(one sample) {
	s.Pairs += one.Pairs
	s.CPUSeconds += one.CPUSeconds
	s.Allocations += one.Allocations
	s.Bytes += one.Bytes
	s.Collections += one.Collections
	s.MaxRSSKB += one.MaxRSSKB
	s.Goroutines += one.Goroutines
	s.Failed += one.Failed
	s.Failure = firstOf(s.Failure, one.Failure)
	s.Lost += one.Lost
}

// childMain is the child's whole life; it answers the exit code. It ends too when the parent does.
func childMain(in io.Reader, out io.Writer) int {
	if err := serveParent(bufio.NewScanner(in), out); err != nil {
		fmt.Fprintln(os.Stderr, "peers child:", err)
		return 1
	}
	return 0
}

func serveParent(lines *bufio.Scanner, out io.Writer) error {
	first, err := readLine(lines)
	if err != nil {
		return err
	}
	var spec childSpec
	if err := json.Unmarshal([]byte(first), &spec); err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	w, known := workNamed(spec.Work)
	e, found := entryNamed(spec.Contestant)
	if !known || !found {
		return fmt.Errorf("cannot do %s with %s", spec.Work, spec.Contestant)
	}
	memory, err := openShared(spec.Shared)
	if err != nil {
		return err
	}
	drive, leave, err := openLoad(e, w, spec)
	if err != nil {
		return fmt.Errorf("opening %s: %w", e.name, err)
	}
	defer leave()
	callers := w.Callers
	if e.drive != nil {
		callers = 0 // it makes its own load
	}
	return measureLoad(lines, out, drive, newMeter(callers, names{prefix: spec.Prefix}, memory), spec.Process)
}

// openLoad opens the contestant and picks how its callers call.
func openLoad(e entry, w work, spec childSpec) (drive loadDriver, leave func(), err error) {
	if e.drive != nil {
		drive, err = e.drive(spec.URL)
		return drive, func() {}, err
	}
	contestant := e.open()
	if err := contestant.Open(spec.URL); err != nil {
		return nil, nil, err
	}
	switch w.Load {
	case handover:
		drive = driveHandover(contestant, spec.Process)
	case asynchronous:
		async, can := contestant.(asyncContestant)
		if !can {
			contestant.Close()
			return nil, nil, errors.New("it has no asynchronous calls")
		}
		drive = driveAsync(async)
	default:
		drive = driveBlocking(contestant, w.Hot)
	}
	return drive, contestant.Close, nil
}

// measureLoad lets the load run and follows the parent's words.
func measureLoad(lines *bufio.Scanner, out io.Writer, drive loadDriver, m *meter, process int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- drive(ctx, m) }()
	fmt.Fprintln(out, linePrefix+readyWord)
	if err := expect(lines, measureWord); err != nil {
		return err
	}
	if err := m.start(); err != nil {
		return err
	}
	if err := expect(lines, stopWord); err != nil {
		return err
	}
	measured, err := m.stop(process)
	if err != nil {
		return err
	}
	// Callers that sleep between tries need the cancel; those that hold a lock give it back first.
	cancelled := time.AfterFunc(farewell/4, cancel)
	defer cancelled.Stop()
	select {
	case err = <-ended:
	case <-time.After(farewell):
		fmt.Fprintln(os.Stderr, "peers child: callers still run after the end")
	}
	line, encoding := json.Marshal(measured)
	fmt.Fprintln(out, linePrefix+string(line))
	return errors.Join(err, encoding)
}

func readLine(lines *bufio.Scanner) (string, error) {
	if !lines.Scan() {
		return "", fmt.Errorf("the parent is gone: %w", errors.Join(io.EOF, lines.Err()))
	}
	return strings.TrimSpace(lines.Text()), nil
}

func expect(lines *bufio.Scanner, word string) error {
	line, err := readLine(lines)
	if err == nil && line != word {
		return fmt.Errorf("got %q, want %q", line, word)
	}
	return err
}
