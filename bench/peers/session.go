package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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
	redis   counters
	stated  *Waits // by programs that do not give their waits one by one
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
	memory := filepath.Join(s.server.folder, "shared")
	if err := createShared(memory); err != nil {
		return m, err
	}
	prefix := freshPrefix()
	var children []*child
	defer func() {
		for _, c := range children {
			c.kill()
		}
	}()
	for process := range s.work.Processes {
		c, err := startChild(childSpec{URL: s.server.url, Contestant: s.entry.name, Work: s.work.ID,
			Process: process, Prefix: prefix, Shared: memory})
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
func (s *session) watch(ctx context.Context, children []*child) (counters, error) {
	before, err := readCounters(s.server.control)
	if err != nil {
		return counters{}, err
	}
	for _, c := range children {
		if err := c.say(measureWord); err != nil {
			return counters{}, err
		}
	}
	if err := pause(ctx, s.opts.length); err != nil {
		return counters{}, err
	}
	for _, c := range children {
		if err := c.say(stopWord); err != nil {
			return counters{}, err
		}
	}
	after, err := readCounters(s.server.control)
	return after.since(before), err
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

// child is the parent's end of one contestant process.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Reader
	overdue *time.Timer // kills the process
}

func startChild(spec childSpec) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{process: exec.Command(self, childFlag)}
	c.process.Stderr = os.Stderr
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the parent alone
	if c.in, err = c.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.lines = bufio.NewReaderSize(out, 1<<20)
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	c.overdue = time.AfterFunc(childPatience, func() { c.process.Process.Kill() })
	order, err := json.Marshal(spec)
	if err != nil {
		return c, err
	}
	return c, c.say(string(order))
}

func (c *child) say(line string) error {
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// awaitReady returns when the child is warming up.
func (c *child) awaitReady() error {
	line, err := c.listen()
	c.overdue.Stop()
	if err == nil && line != readyWord {
		return fmt.Errorf("the child said %q instead of %q", line, readyWord)
	}
	return err
}

// awaitSample returns what the child measured, after stop was said.
func (c *child) awaitSample() (one sample, err error) {
	c.overdue.Reset(childPatience)
	line, err := c.listen()
	if err != nil {
		return one, err
	}
	return one, json.Unmarshal([]byte(line), &one)
}

// listen takes the child's next line; what libraries print in between goes to the screen.
func (c *child) listen() (string, error) {
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("the child ended too early: %w", errors.Join(err, c.process.Wait()))
		}
		if ours, is := strings.CutPrefix(line, linePrefix); is {
			return strings.TrimSpace(ours), nil
		}
		fmt.Fprint(os.Stderr, line)
	}
}

// kill ends the process; it has nothing more to say.
func (c *child) kill() {
	c.overdue.Stop()
	c.process.Process.Kill()
	c.process.Wait() // killed is how it may end
}
