package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// order is a line on the standard input of a child: what it is to do, then that it may begin or must stop.
// The end of the input means stop at once: the parent is gone.
type order struct {
	Share *Share `json:"share,omitempty"` // in the first order alone
	Go    bool   `json:"go,omitempty"`    // once
	Stop  bool   `json:"stop,omitempty"`  // begin no new call, and drain
	Hurry bool   `json:"hurry,omitempty"` // with Stop: the drain waits for nobody
}

// Share is the share of one child. Where the locks are travels here, and not on a command line that everybody on the machine can read.
type Share struct {
	Plan    load.Plan       `json:"plan"`
	Process int             `json:"process"`
	Where   json.RawMessage `json:"where"`
	Shared  bool            `json:"shared"` // file descriptor 3 is the memory of all children
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

// OpenTime is how long a process may take to connect. While the server does not answer it is asked again.
const OpenTime = 30 * time.Second

// Opener says in cfg, which has the plan, the number of the process and the cells already, how to connect to Where. note tells people something.
type Opener func(share *Share, cfg *load.Config, note func(format string, args ...any)) error

// Work is one process of several, from its order to its last sample. It returns 0, or with failed if it could not run.
func Work(in io.Reader, out io.Writer, failed int, open Opener) (exit int) {
	signal.Ignore(syscall.SIGPIPE) // without a parent, locks have to be given back all the same
	parent := child.Parent(in, out)
	var first order
	if err := parent.Hear(&first); err != nil || first.Share == nil {
		return failed // nobody is there to be told
	}
	control := NewControl()
	begin := make(chan struct{})
	go func() { // follow orders until there are no more
		for {
			var o order
			if err := parent.Hear(&o); err != nil {
				control.Stop(true)
				time.AfterFunc(orphaned, func() { os.Exit(failed) })
				return
			}
			if o.Go {
				close(begin)
			}
			if o.Stop {
				control.Stop(o.Hurry)
			}
		}
	}()
	if err := first.Share.run(control, begin, parent, open); err != nil {
		parent.Say(answer{Error: err.Error()})
		return failed
	}
	return 0
}

// run opens the rig of a share, waits for the order to go, and runs the load. It returns an error only if the load did not begin.
func (s *Share) run(control *Control, begin <-chan struct{}, parent *child.Link, open Opener) (err error) {
	cfg := load.Config{Plan: s.Plan, Process: s.Process, Cells: load.PrivateCells(s.Plan.Names)}
	if s.Shared {
		if cfg.Cells, err = load.SharedCells(os.NewFile(3, "shared memory"), s.Plan.Names); err != nil {
			return err
		}
	}
	if err := open(s, &cfg, func(format string, args ...any) { parent.Say(answer{Note: fmt.Sprintf(format, args...)}) }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(control.end, OpenTime)
	defer cancel()
	rig, err := load.Open(ctx, cfg)
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
	control.Run(rig, func(s *load.Sample) { parent.Say(answer{Sample: s}) })
	return nil
}

// Control is how a load is told to end. Its contexts do not descend from those of Ctrl-C: the parent decides what a Ctrl-C means, and a
// server that has ended stops the load the same way.
type Control struct {
	end, hurry       context.Context // see load.Rig.Run
	endNow, hurryNow context.CancelFunc
}

// NewControl makes one.
func NewControl() *Control {
	c := &Control{}
	c.end, c.endNow = context.WithCancel(context.Background())
	c.hurry, c.hurryNow = context.WithCancel(context.Background())
	return c
}

// Run runs a load until it is told to end.
func (c *Control) Run(rig *load.Rig, emit func(*load.Sample)) { rig.Run(c.end, c.hurry, emit) }

// Stop ends the load early; with hurry, without waiting for the last calls.
func (c *Control) Stop(hurry bool) {
	c.endNow()
	if hurry {
		c.hurryNow()
	}
}
