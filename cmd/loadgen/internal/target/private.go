package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/proc"
)

// order is what a keeper is told on its standard input, in one line. The input stays open for as long as the
// server is wanted: when it ends, however, the keeper ends the server.
type order struct {
	Program string `json:"program"`
}

// word is what a keeper says on its standard output, one line each: first where the server is or why there
// is none, later that it ended although nobody wanted that.
type word struct {
	URL     string `json:"url,omitempty"`
	Place   string `json:"place,omitempty"`
	Network string `json:"network,omitempty"` // "unix socket" or "loopback port"
	Error   string `json:"error,omitempty"`
}

// startUp is how long a server may take to answer; an idle machine needs 20 ms.
const startUp = 20 * time.Second

// startPrivate has a keeper run a server.
func startPrivate(ctx context.Context, keeper []string, program string) (*Target, error) {
	cmd := exec.Command(keeper[0], keeper[1:]...)
	proc.Apart(cmd)
	cmd.Stderr = os.Stderr // only a keeper that panics writes there
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the keeper of %s: %w", program, err)
	}
	t := &Target{Kind: Private, failed: make(chan error, 1)}
	words := make(chan word)
	heard := make(chan struct{})
	go hear(out, words, heard)
	t.shut = func() error {
		in.Close()
		<-heard // Wait closes the pipe: everything has to be read before
		return cmd.Wait()
	}
	if err := json.NewEncoder(in).Encode(order{program}); err != nil {
		drop(t, words)
		return nil, fmt.Errorf("starting the keeper of %s: %w", program, err)
	}
	if err := t.await(ctx, words); err != nil {
		return nil, err
	}
	return t, nil
}

// await waits for the server, and then listens for its end.
func (t *Target) await(ctx context.Context, words <-chan word) error {
	var first word
	var err error
	select {
	case w, ok := <-words:
		first = w
		if !ok {
			err = errors.New("the keeper of redis-server ended at once")
		} else if w.Error != "" {
			err = errors.New(w.Error)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		drop(t, words)
		return err
	}
	t.Address.URL, t.Place, t.network = first.URL, first.Place, first.Network
	go func() {
		for w := range words {
			select {
			case t.failed <- errors.New(w.Error):
			default: // once is enough
			}
		}
	}()
	if err := t.connect(ctx); err != nil {
		t.Close()
		return err
	}
	return nil
}

// drop closes a target that nobody will use. Why it is of no use is told already.
func drop(t *Target, words <-chan word) {
	go func() {
		for range words {
		}
	}()
	t.Close()
}

// hear reads what a keeper says until it ends.
func hear(out io.Reader, words chan<- word, heard chan<- struct{}) {
	defer close(heard)
	defer close(words)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var w word
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			w.Error = "the keeper of redis-server said: " + strings.TrimSpace(lines.Text())
		}
		words <- w
	}
}
