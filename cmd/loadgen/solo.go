package main

import (
	"context"

	"github.com/wheellock/wheellock/cmd/internal/notes"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/engine"
)

// solo is the callers of a run of one process: this one.
type solo struct {
	rig     *load.Rig
	news    chan event
	control control
}

// openSolo connects to Redis. The cells are this process's own memory, which all its callers share.
func openSolo(s *session) (callers, error) {
	to, err := options(s.target.Addresses())
	if err != nil {
		return nil, err
	}
	c := &solo{news: make(chan event, 16), control: newControl()}
	ctx, cancel := context.WithTimeout(s.end, openTime)
	defer cancel()
	c.rig, err = load.Open(ctx, load.Config{
		Plan: *s.plan, Redis: to, Cells: load.PrivateCells(s.plan.Names), Logger: notes.Logger(s.live.Note), NameFor: s.nameFor,
	})
	if err != nil {
		return nil, err
	}
	s.facts.SharedMemory = true
	return c, nil
}

// begin runs the load. Its last event says that the process is gone; then the channel is closed, and follow returns.
func (s *solo) begin() error {
	go func() {
		defer close(s.news)
		defer s.control.stop(true) // frees the contexts
		s.rig.Run(s.control.end, s.control.hurry, func(sample *load.Sample) { s.news <- event{sample: sample} })
		s.news <- event{gone: true}
	}()
	return nil
}

func (s *solo) events() <-chan event { return s.news }

func (s *solo) stop(hurry bool) { s.control.stop(hurry) }

// control is how a load is told to end. Its contexts do not descend from those of Ctrl-C: follow decides what a Ctrl-C means, and a
// server that has ended stops the load the same way.
type control struct {
	end, hurry       context.Context // see load.Rig.Run
	endNow, hurryNow context.CancelFunc
}

func newControl() control {
	c := control{}
	c.end, c.endNow = context.WithCancel(context.Background())
	c.hurry, c.hurryNow = context.WithCancel(context.Background())
	return c
}

func (c *control) stop(hurry bool) {
	c.endNow()
	if hurry {
		c.hurryNow()
	}
}

// options are those of addresses.
func options(addresses []target.Address) (all []engine.Options, err error) {
	for _, a := range addresses {
		o, err := a.Options()
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}
