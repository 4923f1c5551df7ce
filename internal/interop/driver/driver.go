// Package driver speaks with a process that obeys the commands of bench/redisson/README.md: Redisson, or an engine of ours.
package driver

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// Driver is such a process. Any goroutine may call its methods.
type Driver struct {
	Ready   string // what it said of itself: its version and the uuid of its client
	process *exec.Cmd
	in      io.WriteCloser
	done    chan struct{} // closed when it has said its last line

	mu      sync.Mutex // guards the rest
	last    int
	answers map[string]chan string // nil: it has ended
}

// New starts the process, and returns once it is ready. If it ends before, the error is an exec.ExitError.
func New(command *exec.Cmd) (*Driver, error) {
	d := &Driver{process: command, done: make(chan struct{}), answers: make(map[string]chan string)}
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.in, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	ready := false
	if lines.Scan() {
		d.Ready, ready = strings.CutPrefix(lines.Text(), "ready ")
	}
	if !ready {
		d.in.Close()
		return nil, fmt.Errorf("%s did not get ready: %q, %w", command.Path, lines.Text(), cmp.Or(command.Wait(), io.ErrUnexpectedEOF))
	}
	go d.read(lines)
	return d, nil
}

const gone = "err Gone the process has ended"

func (d *Driver) read(lines *bufio.Scanner) {
	defer close(d.done)
	for lines.Scan() {
		id, answer, _ := strings.Cut(lines.Text(), " ")
		d.mu.Lock()
		to := d.answers[id]
		delete(d.answers, id)
		d.mu.Unlock()
		if to != nil {
			to <- answer
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, to := range d.answers {
		to <- gone
	}
	d.answers = nil
}

// Start sends a command and returns where its answer will be.
func (d *Driver) Start(format string, args ...any) <-chan string {
	d.mu.Lock()
	d.last++
	id := strconv.Itoa(d.last)
	to := make(chan string, 1)
	if d.answers == nil {
		to <- gone
	} else {
		d.answers[id] = to
	}
	d.mu.Unlock()
	fmt.Fprintf(d.in, "%s %s\n", id, fmt.Sprintf(format, args...))
	return to
}

// Read takes an answer apart: what a command gave, or, if not ok, what it threw.
func Read(answer string) (text string, ok bool) {
	status, text, _ := strings.Cut(answer, " ")
	return text, status == "ok"
}

// Kill ends the process as kill -9 does.
func (d *Driver) Kill() {
	d.process.Process.Kill()
	<-d.done
}

// Close ends the process in order.
func (d *Driver) Close() {
	d.in.Close() // it ends by itself at the end of its input
	<-d.done
	d.process.Wait()
}
