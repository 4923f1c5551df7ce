package main

import (
	"context"
	"encoding/json"

	"github.com/wheellock/wheellock/cmd/internal/notes"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/load/crew"
)

// openCrew starts the processes of a run of several.
func openCrew(s *session) (callers, error) {
	programs := s.programs
	if programs == nil {
		programs = []string{s.self}
	}
	c, err := crew.Hire(s.end, &crew.Job{Plan: s.plan, Programs: programs, Role: childRole, Where: s.target.Addresses()})
	if err != nil {
		return nil, err
	}
	s.facts.SharedMemory = c.Shared
	return c, nil
}

// connect is what one of these does to reach the server.
func connect(share *crew.Share, cfg *load.Config, note func(string, ...any)) (err error) {
	var addresses []target.Address
	if err := json.Unmarshal(share.Where, &addresses); err != nil {
		return err
	}
	cfg.Logger = notes.Logger(note)
	cfg.Redis, err = options(addresses)
	return err
}

// solo is the callers of a run of one process: this one.
type solo struct {
	*crew.Control
	rig  *load.Rig
	news chan crew.Event
}

// openSolo connects to Redis. The cells are this process's own memory, which all its callers share.
func openSolo(s *session) (callers, error) {
	to, err := options(s.target.Addresses())
	if err != nil {
		return nil, err
	}
	c := &solo{Control: crew.NewControl(), news: make(chan crew.Event, 16)}
	ctx, cancel := context.WithTimeout(s.end, crew.OpenTime)
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

// Begin runs the load. Its last event says that the process is gone; then the channel is closed, and follow returns.
func (s *solo) Begin() {
	go func() {
		defer close(s.news)
		defer s.Stop(true) // frees the contexts
		s.Run(s.rig, func(sample *load.Sample) { s.news <- crew.Event{Sample: sample} })
		s.news <- crew.Event{Gone: true}
	}()
}

func (s *solo) Events() <-chan crew.Event { return s.news }

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
