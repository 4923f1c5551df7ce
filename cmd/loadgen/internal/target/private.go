package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/wheellock/wheellock/internal/testkit/child"
)

// order is what a keeper is told, once. Its input stays open for as long as the
// server is wanted: when it ends, however, the keeper ends the server.
type order struct {
	Program string `json:"program"`
}

// word is what a keeper says: first where the server is or why there
// is none, later that it ended although nobody wanted that.
type word struct {
	URL     string `json:"url,omitempty"`
	Place   string `json:"place,omitempty"`
	Network string `json:"network,omitempty"` // "unix socket" or "loopback port"
	Error   string `json:"error,omitempty"`
}

// startPrivate has a keeper run a server.
func startPrivate(ctx context.Context, keeper []string, program string) (*Target, error) {
	cmd := exec.Command(keeper[0], keeper[1:]...)
	cmd.Stderr = os.Stderr // only a keeper that panics writes there
	k, err := child.Talk(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting the keeper of %s: %w", program, err)
	}
	t := &Target{Kind: Private, failed: make(chan error, 1)}
	first, heard := make(chan word, 1), make(chan struct{})
	go func() {
		defer close(heard)
		first <- hear(k)
		t.failed <- errors.New(hear(k).Error)
	}()
	t.shut = func() error {
		k.HangUp()
		<-heard
		return k.Wait()
	}
	k.Say(order{program}) // a keeper that cannot be told says nothing either
	select {
	case w := <-first:
		t.Address.URL, t.Place, t.network = w.URL, w.Place, w.Network
		if w.Error != "" {
			err = errors.New(w.Error)
		} else {
			err = t.connect(ctx)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		t.Close() // why it is of no use is told already
		return nil, err
	}
	return t, nil
}

// hear is what a keeper says next.
func hear(k *child.Link) (w word) {
	if err := k.Hear(&w); err != nil {
		w.Error = fmt.Sprintf("the keeper of redis-server ended: %v", err)
	}
	return w
}
