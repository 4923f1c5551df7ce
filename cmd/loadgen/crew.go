package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// crew is the callers of a run of several processes: children of this one. Parent and child exchange lines of JSON over the child's
// standard input (order) and output (answer):
//
//  1. The parent starts all children and sends each its share: the plan, its number, and where Redis is.
//  2. A child connects, maps the shared cells (file descriptor 3) and answers ready, or the error that keeps it from beginning.
//  3. When all are ready the parent sends go to all. From here a child needs no order: the plan says how long each phase lasts.
//  4. A child sends a sample every second, and notes such as a lost connection. Its last sample has an Ending.
//  5. The child exits, and the parent reaps it. A child that ends without an Ending has died, which is a problem of the run.
//
// To end early the parent sends stop. The end of the input means the same with hurry: so children give their locks back also when
// the parent was killed.
type crew struct {
	members []*member
	news    chan event
	length  time.Duration // of warm-up and measured time
	limit   time.Duration // how much longer it may take to end
	late    *time.Timer   // kills a process that takes longer
}

// member is one child. Its reader goroutine passes on what it says, and reaps it.
type member struct {
	*child.Link
	process int
	ready   chan error // one value: it can begin, or why it cannot
}

// openCrew starts all children before it waits for the first: they connect at the same time. If one cannot begin, none does.
func openCrew(s *session) (callers, error) {
	p := s.plan
	shared, err := load.SharedFile(p.Names)
	switch {
	case err == nil:
		defer shared.Close() // the children have it
		s.facts.SharedMemory = true
	case !errors.Is(err, errors.ErrUnsupported):
		return nil, err
	}
	c := &crew{news: make(chan event, 16*p.Processes), limit: p.LeaseTime() + 30*time.Second, length: p.Warmup + p.Duration}
	err = c.hire(s, shared)
	for _, m := range c.members {
		if err == nil {
			err = m.await(s)
		}
	}
	if err != nil {
		c.dismiss()
		return nil, err
	}
	return c, nil
}

// hire starts the children.
func (c *crew) hire(s *session, shared *os.File) error {
	var readers sync.WaitGroup // news is closed when the last child was reaped, also when not all could be started
	defer func() {
		go func() {
			readers.Wait()
			close(c.news)
		}()
	}()
	p := s.plan
	for i := range p.Processes {
		m := &member{process: i, ready: make(chan error, 1)}
		share := &shareOrder{Plan: *p, Process: i, Addresses: s.target.Addresses(), Shared: shared != nil}
		program := s.self
		if len(s.programs) > 0 {
			program = s.programs[i%len(s.programs)]
		}
		if err := m.start(program, share, shared); err != nil {
			return fmt.Errorf("starting process %d: %w", i+1, err)
		}
		c.members = append(c.members, m)
		readers.Go(func() { m.read(c.news) })
	}
	return nil
}

// start runs the program as a child. ExtraFiles[0] is its file descriptor 3: the three before are the standard ones.
func (m *member) start(self string, share *shareOrder, shared *os.File) (err error) {
	cmd := exec.Command(self, childRole)
	if shared != nil {
		cmd.ExtraFiles = []*os.File{shared}
	}
	cmd.Stderr = &tail{} // of a child that panics
	if m.Link, err = child.Talk(cmd); err != nil {
		return err
	}
	m.Say(order{Share: share}) // a child that has ended needs none
	return nil
}

// await returns when the child is connected and waits for the order to go, or with the reason why it will not.
func (m *member) await(s *session) error {
	select {
	case err := <-m.ready:
		if err != nil {
			err = fmt.Errorf("process %d: %w", m.process+1, err)
		}
		return err
	case <-s.end.Done():
		return errors.New("interrupted before the load began")
	}
}

// read passes on what the child says until it has ended. A child that has sent its last sample has done all, however it ends;
// any other has died, and that is reported to what awaits it, or counts on its samples. The last event is always that it is gone.
func (m *member) read(news chan<- event) {
	complete, failure := false, ""
	for {
		var a answer
		if err := m.Hear(&a); err != nil {
			if err != io.EOF {
				failure = "it said what makes no sense: " + err.Error()
				m.Kill() // it may wait for ever for somebody to read on
			}
			break
		}
		switch {
		case a.Ready:
			m.ready <- nil
		case a.Error != "":
			failure = a.Error
		case a.Note != "":
			news <- event{process: m.process, note: a.Note}
		case a.Sample != nil:
			complete = complete || a.Sample.Ending != nil
			news <- event{process: m.process, sample: a.Sample}
		}
	}
	err := m.Wait()
	if !complete {
		died := m.causeOf(err, failure)
		select {
		case m.ready <- errors.New(died):
		default:
		}
		news <- event{process: m.process, died: died}
	}
	news <- event{process: m.process, gone: true}
}

// causeOf says why a child ended too early.
func (m *member) causeOf(err error, failure string) string {
	if failure != "" {
		return failure
	}
	cause := "it ended too early"
	if err != nil {
		cause = err.Error()
	}
	if words := m.Cmd.Stderr.(*tail).String(); words != "" {
		cause += ": " + words
	}
	return cause
}

func (c *crew) begin() error {
	for _, m := range c.members {
		m.Say(order{Go: true})
	}
	c.late = time.AfterFunc(c.length+c.limit, c.kill)
	return nil
}

func (c *crew) events() <-chan event { return c.news }

// stop has all processes stop. One that has not ended a good while later is killed, and so reported as dead.
func (c *crew) stop(hurry bool) {
	for _, m := range c.members {
		m.Say(order{Stop: true, Hurry: hurry})
	}
	if hurry {
		c.limit = min(c.limit, 30*time.Second)
	}
	if c.late != nil {
		c.late.Stop()
	}
	c.late = time.AfterFunc(c.limit, c.kill)
}

func (c *crew) kill() {
	for _, m := range c.members {
		m.Kill()
	}
}

// dismiss ends a crew that will not begin.
func (c *crew) dismiss() {
	c.stop(true)
	for range c.news {
	}
	c.late.Stop()
}

// tail keeps the beginning of what a child writes to its standard error: a panic says first what it is.
type tail struct {
	mu   sync.Mutex // guards the rest
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 1<<10-len(t.text))]...)
	return len(p), nil
}

// String is that beginning, in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
