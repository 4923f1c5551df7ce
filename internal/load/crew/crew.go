// Package crew runs a load in several processes: children of this one, which are the same program in another role. Parent and child exchange
// lines of JSON over the child's standard input (order) and output (answer):
//
//  1. The parent starts all children and sends each its Share: the plan, its number, and where the locks are.
//  2. A child connects, maps the shared cells (file descriptor 3) and answers ready, or the error that keeps it from beginning.
//  3. When all are ready the parent sends go to all. From here a child needs no order: the plan says how long each phase lasts.
//  4. A child sends a sample every second, and notes such as a lost connection. Its last sample has an Ending.
//  5. The child exits, and the parent reaps it. A child that ends without an Ending has died, which is a problem of the run.
//
// To end early the parent sends stop. The end of the input means the same with hurry: so children give their locks back also when
// the parent was killed.
package crew

import (
	"context"
	"encoding/json"
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

// Job is what a crew is to do.
type Job struct {
	Plan     *load.Plan
	Programs []string // that the processes run, in turn
	Role     string   // the only argument of each, which has it call Work
	Where    any      // the locks are, in a form that JSON has
}

// Event is news of a process.
type Event struct {
	Process int
	Sample  *load.Sample // or
	Note    string       // something to tell, or
	Died    string       // it ended too early, or
	Gone    bool         // it ended
}

// Crew is the callers of a run in several processes.
type Crew struct {
	Shared bool // the processes share the cells of the names

	members []*member
	news    chan Event
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

// Hire starts all children before it waits for the first: they connect at the same time. If one cannot begin, or ctx ends, none does.
func Hire(ctx context.Context, j *Job) (*Crew, error) {
	p := j.Plan
	shared, err := load.SharedFile(p.Names)
	switch {
	case err == nil:
		defer shared.Close() // the children have it
	case !errors.Is(err, errors.ErrUnsupported):
		return nil, err
	}
	c := &Crew{Shared: err == nil, news: make(chan Event, 16*p.Processes), limit: p.LeaseTime() + 30*time.Second, length: p.Warmup + p.Duration}
	err = c.hire(j, shared)
	for _, m := range c.members {
		if err == nil {
			err = m.await(ctx)
		}
	}
	if err != nil {
		c.Dismiss()
		return nil, err
	}
	return c, nil
}

// hire starts the children.
func (c *Crew) hire(j *Job, shared *os.File) error {
	var readers sync.WaitGroup // news is closed when the last child was reaped, also when not all could be started
	defer func() {
		go func() {
			readers.Wait()
			close(c.news)
		}()
	}()
	where, err := json.Marshal(j.Where)
	for i := range j.Plan.Processes {
		m := &member{process: i, ready: make(chan error, 1)}
		if err == nil {
			err = m.start(j, where, shared)
		}
		if err != nil {
			return fmt.Errorf("starting process %d: %w", i+1, err)
		}
		c.members = append(c.members, m)
		readers.Go(func() { m.read(c.news) })
	}
	return nil
}

// start runs the program as a child. ExtraFiles[0] is its file descriptor 3: the three before are the standard ones.
func (m *member) start(j *Job, where json.RawMessage, shared *os.File) (err error) {
	cmd := exec.Command(j.Programs[m.process%len(j.Programs)], j.Role)
	if shared != nil {
		cmd.ExtraFiles = []*os.File{shared}
	}
	cmd.Stderr = &tail{} // of a child that panics
	if m.Link, err = child.Talk(cmd); err != nil {
		return err
	}
	m.Say(order{Share: &Share{*j.Plan, m.process, where, shared != nil}}) // a child that has ended needs none
	return nil
}

// await returns when the child is connected and waits for the order to go, or with the reason why it will not.
func (m *member) await(ctx context.Context) error {
	select {
	case err := <-m.ready:
		if err != nil {
			err = fmt.Errorf("process %d: %w", m.process+1, err)
		}
		return err
	case <-ctx.Done():
		return errors.New("interrupted before the load began")
	}
}

// read passes on what the child says until it has ended. A child that has sent its last sample has done all, however it ends;
// any other has died, and that is reported to what awaits it, or counts on its samples. The last event is always that it is gone.
func (m *member) read(news chan<- Event) {
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
			news <- Event{Process: m.process, Note: a.Note}
		case a.Sample != nil:
			complete = complete || a.Sample.Ending != nil
			news <- Event{Process: m.process, Sample: a.Sample}
		}
	}
	err := m.Wait()
	if !complete {
		died := m.causeOf(err, failure)
		select {
		case m.ready <- errors.New(died):
		default:
		}
		news <- Event{Process: m.process, Died: died}
	}
	news <- Event{Process: m.process, Gone: true}
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

// Begin sets the callers going.
func (c *Crew) Begin() {
	for _, m := range c.members {
		m.Say(order{Go: true})
	}
	c.late = time.AfterFunc(c.length+c.limit, c.kill)
}

// Events tells what the callers do, in the order of each process; it is closed after the last of all.
func (c *Crew) Events() <-chan Event { return c.news }

// Stop ends the load early; with hurry, without waiting for the last calls. A process that has not ended a good while later is killed, and so
// reported as dead.
func (c *Crew) Stop(hurry bool) {
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

func (c *Crew) kill() {
	for _, m := range c.members {
		m.Kill()
	}
}

// Dismiss ends a crew whose news nobody waits for.
func (c *Crew) Dismiss() {
	c.Stop(true)
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
