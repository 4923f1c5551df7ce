package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/notes"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// order is a line on the standard input of a child: what it is to do, then that it may begin or must stop.
// The end of the input means stop at once: the parent is gone.
type order struct {
	Share *shareOrder `json:"share,omitempty"` // in the first order alone
	Go    bool        `json:"go,omitempty"`    // once
	Stop  bool        `json:"stop,omitempty"`  // begin no new call, and drain
	Hurry bool        `json:"hurry,omitempty"` // with Stop: the drain waits for nobody
}

// shareOrder is the share of one child. The addresses travel here, and not on a command line that everybody
// on the machine can read.
type shareOrder struct {
	Plan      load.Plan        `json:"plan"`
	Process   int              `json:"process"`
	Addresses []target.Address `json:"addresses"` // one, or those of a quorum
	Shared    bool             `json:"shared"`    // file descriptor 3 is the memory of all children
}

// answer is a line on the standard output of a child. A parent that does not listen any more has closed the input too.
type answer struct {
	Ready  bool         `json:"ready,omitempty"`  // connected, waits for Go
	Sample *load.Sample `json:"sample,omitempty"` // one a second
	Note   string       `json:"note,omitempty"`   // for people; the run goes on
	Error  string       `json:"error,omitempty"`  // the child ends
}

// orphaned is how long a child may take to give back its locks when its parent is gone.
const orphaned = 20 * time.Second

// openTime is how long a process may take to connect. While the server does not answer it is asked again.
const openTime = 30 * time.Second

// runChild is one process of several, from its order to its last sample.
func runChild(in io.Reader, out io.Writer) (exit int) {
	signal.Ignore(syscall.SIGPIPE) // without a parent, locks have to be given back all the same
	parent := child.Parent(in, out)
	var first order
	if err := parent.Hear(&first); err != nil || first.Share == nil {
		return exitFailed // nobody is there to be told
	}
	control := newControl()
	begin := make(chan struct{})
	go obey(parent, &control, begin)
	if err := runShare(first.Share, &control, begin, parent); err != nil {
		parent.Say(answer{Error: err.Error()})
		return exitFailed
	}
	return exitOK
}

// obey follows orders until there are no more.
func obey(parent *child.Link, control *control, begin chan<- struct{}) {
	for {
		var o order
		if err := parent.Hear(&o); err != nil {
			control.stop(true)
			time.AfterFunc(orphaned, func() { os.Exit(exitFailed) })
			return
		}
		if o.Go {
			close(begin)
		}
		if o.Stop {
			control.stop(o.Hurry)
		}
	}
}

// runShare opens the rig of a share, waits for the order to go, and runs the load. It returns an error only if the load did not begin.
func runShare(share *shareOrder, control *control, begin <-chan struct{}, parent *child.Link) error {
	cells := load.PrivateCells(share.Plan.Names)
	if share.Shared {
		var err error
		if cells, err = load.SharedCells(os.NewFile(3, "shared memory"), share.Plan.Names); err != nil {
			return err
		}
	}
	to, err := options(share.Addresses)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(control.end, openTime)
	defer cancel()
	rig, err := load.Open(ctx, load.Config{
		Plan: share.Plan, Process: share.Process, Redis: to, Cells: cells,
		Logger: notes.Logger(func(format string, args ...any) { parent.Say(answer{Note: fmt.Sprintf(format, args...)}) }),
	})
	if err != nil {
		return err
	}
	parent.Say(answer{Ready: true})
	select {
	case <-begin:
	case <-control.end.Done():
		rig.Close()
		return errors.New("stopped before it began")
	}
	rig.Run(control.end, control.hurry, func(s *load.Sample) { parent.Say(answer{Sample: s}) })
	return nil
}
