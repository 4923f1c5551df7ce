package target

import (
	"context"
	"io"
	"os"

	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

// Keep runs a private redis-server for the process that holds the other end of in. When that end closes,
// because the process closed it or because it died of whatever, the server is killed and its directory
// removed: so nothing is left behind also after a panic or a SIGKILL. It is the whole work of a keeper process.
func Keep(in io.Reader, out io.Writer) (exit int) {
	parent := child.Parent(in, out)
	var o order
	if parent.Hear(&o) != nil {
		return 1 // nobody is there to be told
	}
	wanted, gone := context.WithCancel(context.Background())
	go func() {
		parent.Hear(&o) // returns when the other end is closed
		gone()
	}()
	if err := keep(wanted, o.Program, parent); err != nil {
		parent.Say(word{Error: err.Error()})
		return 1
	}
	return 0
}

// keep runs the server for as long as it is wanted.
func keep(wanted context.Context, program string, parent *child.Link) error {
	dir, err := os.MkdirTemp("", "loadgen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &redisserver.Server{Program: []string{program}, Dir: dir}
	if err := s.StartOnSocket(wanted); err != nil {
		return err
	}
	defer s.Kill()
	if s.Network == "unix" {
		parent.Say(word{URL: "unix://" + s.Addr, Place: s.Addr, Network: "unix socket"})
	} else {
		parent.Say(word{URL: "redis://" + s.Addr, Place: s.Addr, Network: "loopback port"})
	}
	select {
	case <-wanted.Done():
	case <-s.Process().Done():
		parent.Say(word{Error: "redis-server ended in the middle of the run: " + s.Process().State()})
		<-wanted.Done()
	}
	return nil
}
