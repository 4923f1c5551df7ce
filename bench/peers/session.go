package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
)

// session is one turn: one contestant at one work, once.
type session struct {
	opts   options
	server *server
	work   work
	entry  entry
}

// measurement is what a turn measured, before it is put in relation to the number of pairs.
type measurement struct {
	samples []sample
	redis   resp.Counters
}

// A child that does not get ready, or does not end, within this time is killed and its turn is void.
const childPatience = 20 * time.Second

// run does the turn. An error means that there is no figure.
func (s *session) run(ctx context.Context) (measurement, error) {
	if err := s.server.clear(); err != nil {
		return measurement{}, fmt.Errorf("emptying Redis: %w", err)
	}
	if s.entry.measure != nil {
		return s.entry.measure(ctx, s)
	}
	return s.runChildren(ctx)
}

func (s *session) runChildren(ctx context.Context) (m measurement, err error) {
	memory, err := sharedmem.File(sharedBytes)
	if err != nil {
		return m, err
	}
	defer memory.Close() // the children have it
	prefix := freshPrefix()
	var children []*contestantProcess
	defer func() {
		for _, c := range children {
			c.end()
		}
	}()
	for process := range s.work.Processes {
		c, err := startChild(childSpec{URL: s.server.urls(s.work), Contestant: s.entry.name, Work: s.work.ID,
			Process: process, Prefix: prefix, Away: s.opts.away}, memory)
		if err != nil {
			return m, err
		}
		children = append(children, c)
	}
	for _, c := range children {
		if err := c.awaitReady(); err != nil {
			return m, err
		}
	}
	if err := pause(ctx, s.opts.warmUp); err != nil {
		return m, err
	}
	if m.redis, err = s.watch(ctx, children); err != nil {
		return m, err
	}
	for _, c := range children {
		one, err := c.awaitSample()
		if err != nil {
			return m, err
		}
		m.samples = append(m.samples, one)
	}
	return m, nil
}

// watch leads the children through the measured part and answers what Redis did meanwhile.
func (s *session) watch(ctx context.Context, children []*contestantProcess) (done resp.Counters, err error) {
	before, err := s.server.Counters()
	if err != nil {
		return done, err
	}
	for _, c := range children {
		if err := c.Say(measureWord); err != nil {
			return done, err
		}
	}
	if err := pause(ctx, s.opts.length); err != nil {
		return done, err
	}
	for _, c := range children {
		if err := c.Say(stopWord); err != nil {
			return done, err
		}
	}
	after, err := s.server.Counters()
	return after.Since(before), err
}

// pause waits, or answers why it did not.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// contestantProcess is the parent's end of one contestant process.
type contestantProcess struct {
	*child.Link
	overdue *time.Timer // kills the process
}

func startChild(spec childSpec, memory *os.File) (*contestantProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, childFlag)
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{memory}
	link, err := child.Talk(cmd)
	if err != nil {
		return nil, err
	}
	return &contestantProcess{link, time.AfterFunc(childPatience, link.Kill)}, link.Say(spec)
}

// awaitReady returns when the child is warming up.
func (c *contestantProcess) awaitReady() error {
	err := expect(c.Link, readyWord)
	c.overdue.Stop()
	return c.ended(err)
}

// awaitSample returns what the child measured, after stop was said.
func (c *contestantProcess) awaitSample() (one sample, err error) {
	c.overdue.Reset(childPatience)
	return one, c.ended(c.Hear(&one))
}

func (c *contestantProcess) ended(err error) error {
	if err == nil {
		return nil
	}
	c.Kill()
	return fmt.Errorf("the child ended too early: %w", errors.Join(err, c.Wait()))
}

// end ends the process; it has nothing more to say.
func (c *contestantProcess) end() {
	c.overdue.Stop()
	c.Kill()
	c.Wait() // killed is how it may end
}
