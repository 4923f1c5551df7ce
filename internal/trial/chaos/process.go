package chaos

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// process is a client seen from its parent: what it has said, and the ways to disturb it.
type process struct {
	setting
	child   *child.Process
	orders  io.WriteCloser
	stderr  *bytes.Buffer // to be read once the child is done
	read    chan struct{} // closed when everything it said was read
	rests   chan struct{} // closed when it rests
	watched chan struct{} // closed when nobody looks any more at what it takes

	disturbing sync.Mutex // held by the fault that is at work on the process

	most int64 // resident bytes at which it is killed

	mu      sync.Mutex // guards the rest
	records []record
	killed  bool
	broken  error // a record that could not be read
	frozen  []span
	usages  []usage
	fate    string // why it ended before its time; empty: it did not
}

// startClient runs a client.
func startClient(tb testing.TB, s setting) *process {
	tb.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), settingVariable+"="+string(text))
	cmd.ExtraFiles = []*os.File{to}
	p := &process{setting: s, stderr: &bytes.Buffer{}, read: make(chan struct{}), rests: make(chan struct{}),
		watched: make(chan struct{}), most: mostMemory}
	cmd.Stderr = p.stderr
	if p.orders, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	p.child = redistest.StartChild(tb, cmd)
	_ = to.Close() // the child has its own
	go p.listen(from)
	go p.watch()
	tb.Cleanup(func() { p.child.Kill(); <-p.read; <-p.watched })
	return p
}

// listen reads records until the process has ended.
func (p *process) listen(from *os.File) {
	defer close(p.read)
	defer func() { _ = from.Close() }()
	records := gob.NewDecoder(bufio.NewReaderSize(from, 1<<18))
	for {
		var r record
		err := records.Decode(&r)
		p.mu.Lock()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.broken = err
			}
			p.mu.Unlock()
			return
		}
		p.records = append(p.records, r)
		p.mu.Unlock()
		if r.What == rested {
			close(p.rests)
		}
	}
}

// said is everything that the process has said so far.
func (p *process) said() []record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.records[:len(p.records):len(p.records)]
}

// order writes one line to the process: the first has it rest, the second close its engine.
func (p *process) order() { _, _ = p.orders.Write([]byte("\n")) }

// leak has the process lose something.
func (p *process) leak() { _, _ = p.orders.Write([]byte(leakOrder + "\n")) }

// hangUp ends its standard input, after which it exits.
func (p *process) hangUp() { _ = p.orders.Close() }

// kill ends the process with SIGKILL and returns when all it said is read.
func (p *process) kill() instant {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	at := now()
	p.child.Kill()
	<-p.read
	return at
}

// unreadable is why its records could not be read.
func (p *process) unreadable() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// end kills the process because of something that must not be, unless it is killed already.
func (p *process) end(why string) {
	p.mu.Lock()
	if !p.killed {
		p.killed, p.fate = true, why
	}
	p.mu.Unlock()
	p.child.Kill()
}

// ruin is why the process ended before its time; empty: it did not. One that ended by itself counts as killed.
func (p *process) ruin() string {
	select {
	case <-p.child.Done():
	default:
		return ""
	}
	<-p.read
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.killed, p.fate = true, fmt.Sprintf("ended by itself with %d: %.1500s", p.child.ExitCode(), p.stderr)
	}
	return p.fate
}

// freeze stops the process for d. False: it has ended.
func (p *process) freeze(d time.Duration) bool {
	at := now()
	if p.child.Freeze() != nil {
		return false
	}
	time.Sleep(d)
	_ = p.child.Thaw() // it may have been killed meanwhile
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = append(p.frozen, span{at, now()})
	return true
}

func (p *process) freezes() []span {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

// within reports whether c is closed before d is over.
func within(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
