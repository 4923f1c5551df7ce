package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// childFlag makes this program a child: one contestant at one work, in a process of its own, so that processor
// time, allocations and garbage collection are that contestant's alone.
//
// The parent sends a childSpec, then the words measure and stop; the child answers ready when it is warming up, and a
// sample after stop.
const (
	childFlag   = "--child"
	readyWord   = "ready"
	measureWord = "measure"
	stopWord    = "stop"
)

// farewell is how long callers get to end after the stop. What they do then is not counted.
const farewell = 2 * time.Second

type childSpec struct {
	URL        string // of several servers, those with commas between them
	Contestant string
	Work       string
	Process    int
	Prefix     string
	Away       time.Duration // of the server
}

// A sample is what one process measured.
type sample struct {
	Process     int
	Seconds     float64
	Pairs       int64
	CallerPairs []int64
	Handovers   int64 // of these pairs, those whose hot name another caller had before
	Waits       figures.Histogram
	Usage       usage.Usage
	Goroutines  int
	Failed      int64
	Failure     string
	Lost        int64
	Broken      int64
	Breach      string
}

// childMain is the child's whole life; it answers the exit code. It ends too when the parent does.
func childMain(in io.Reader, out io.Writer) int {
	os.Stdout = os.Stderr // what libraries print is not for the parent
	if err := serveParent(child.Parent(in, out)); err != nil {
		fmt.Fprintln(os.Stderr, "peers child:", err)
		return 1
	}
	return 0
}

func serveParent(parent *child.Link) error {
	var spec childSpec
	if err := parent.Hear(&spec); err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	if spec.Work == siteWork {
		return serveSite(parent, spec)
	}
	w, known := workNamed(spec.Work)
	e, found := entryNamed(spec.Contestant)
	if !known || !found {
		return fmt.Errorf("cannot do %s with %s", spec.Work, spec.Contestant)
	}
	memory, err := openShared(os.NewFile(3, "shared memory"))
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
	m := newMeter(callers, names{prefix: spec.Prefix}, memory)
	m.inside, m.process = w.Inside, spec.Process
	return measureLoad(parent, drive, m)
}

// openLoad opens the contestant and picks how its callers call.
func openLoad(e entry, w work, spec childSpec) (drive loadDriver, leave func(), err error) {
	if e.drive != nil {
		drive, err = e.drive(spec.URL)
		return drive, func() {}, err
	}
	if w.Fleet {
		return openFleet(e, w, spec.URL)
	}
	contestant := e.open(w)
	if err := contestant.Open(spec.URL); err != nil {
		return nil, nil, err
	}
	switch w.Load {
	case handover:
		drive = driveHandover(contestant, spec.Process, settle(spec.Away))
	case asynchronous:
		async, can := contestant.(asyncContestant)
		if !can {
			contestant.Close()
			return nil, nil, errors.New("it has no asynchronous calls")
		}
		drive = driveAsync(async)
	default:
		drive = driveBlocking(func(int) Contestant { return contestant }, w.Hot)
	}
	return drive, contestant.Close, nil
}

// measureLoad lets the load run and follows the parent's words.
func measureLoad(parent *child.Link, drive loadDriver, m *meter) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- drive(ctx, m) }()
	if err := errors.Join(parent.Say(readyWord), expect(parent, measureWord)); err != nil {
		return err
	}
	m.start()
	if err := expect(parent, stopWord); err != nil {
		return err
	}
	measured := m.stop()
	// Callers that sleep between tries need the cancel; those that hold a lock give it back first.
	cancelled := time.AfterFunc(farewell/4, cancel)
	defer cancelled.Stop()
	var err error
	select {
	case err = <-ended:
	case <-time.After(farewell):
		fmt.Fprintln(os.Stderr, "peers child: callers still run after the end")
	}
	return errors.Join(err, parent.Say(measured))
}

// expect hears a word from the other end.
func expect(other *child.Link, word string) error {
	var said string
	if err := other.Hear(&said); err != nil {
		return err
	}
	if said != word {
		return fmt.Errorf("got %q, want %q", said, word)
	}
	return nil
}
