package child

import (
	"encoding/json"
	"io"
	"os/exec"
	"sync"
)

// Link carries values between a parent and its child as JSON, one a line. Any goroutine may Say, one may Hear.
type Link struct {
	Cmd *exec.Cmd // the child; nil in the child itself

	in   *json.Decoder
	hung io.Closer // ends what the other one hears

	mu  sync.Mutex // held while writing
	out *json.Encoder
}

// Parent is the child's end. The end of in means that the parent is gone, or wants nothing more.
func Parent(in io.Reader, out io.Writer) *Link {
	return &Link{in: json.NewDecoder(in), out: json.NewEncoder(out)}
}

// Talk starts cmd as a child that a terminal's Ctrl-C does not reach. It is not tied to this process's life: the end of its input
// tells it that the parent is gone.
func Talk(cmd *exec.Cmd) (*Link, error) {
	Apart(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Link{Cmd: cmd, in: json.NewDecoder(out), out: json.NewEncoder(in), hung: in}, nil
}

// Say sends a value. One who has ended needs none: then it fails.
func (l *Link) Say(value any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Encode(value)
}

// Hear waits for the next value; io.EOF: there will be none.
func (l *Link) Hear(value any) error { return l.in.Decode(value) }

// HangUp ends what the child hears.
func (l *Link) HangUp() { _ = l.hung.Close() }

// Kill ends the child with SIGKILL; whoever reaps it does so soon.
func (l *Link) Kill() { _ = l.Cmd.Process.Kill() }

// Wait reaps the child. All that it said must have been heard before.
func (l *Link) Wait() error { return l.Cmd.Wait() }
