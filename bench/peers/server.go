package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// server is a redis-server of our own, gone after Close.
type server struct {
	*redisserver.Server
	url     string    // for contestants
	others  []*server // two more, of a work with a quorum
	cluster bool      // it is the only master of one
	proxy   *distance // nil: the server is near
	name    string    // product and version, and the arguments of the command
}

// startServer returns when the server that a command starts answers. It keeps to the processor cpu, unless that is empty, and is so far away
// from contestants.
func startServer(ctx context.Context, command, cpu string, away time.Duration) (*server, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("--redis-server names no program")
	}
	folder, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	s := &server{
		Server: &redisserver.Server{Program: words[:1], Args: words[1:], Dir: folder, Apart: true},
	}
	if cpu != "" {
		s.Program = []string{"taskset", "--cpu-list", cpu, words[0]}
	}
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; --redis-server may name another", err), s.Close())
	}
	if s.cluster = resp.InfoFields(s.Do("INFO", "cluster").Text)["cluster_enabled"] == "1"; s.cluster {
		if err := s.takeSlots(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.url = "redis://" + s.Addr
	if away > 0 {
		if s.proxy, err = putAway(s.Addr, away); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.url = "redis://" + s.proxy.Addr().String()
	}
	s.name = strings.Join(append([]string{resp.Product(resp.InfoFields(s.Do("INFO", "server").Text))}, words[1:]...), " ")
	return s, nil
}

// takeSlots has the server serve all hash slots.
func (s *server) takeSlots(ctx context.Context) error {
	if err := s.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Err(); err != nil {
		return err
	}
	for !strings.Contains(s.Do("CLUSTER", "INFO").Text, "cluster_state:ok") {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// bring puts the server so far away from contestants, if it was started away from them.
func (s *server) bring(away time.Duration) {
	if s.proxy != nil {
		s.proxy.away.Store(int64(away))
	}
}

// startOthers starts so many besides, as startServer does.
func (s *server) startOthers(ctx context.Context, n int, command, cpu string, away time.Duration) error {
	for range n {
		other, err := startServer(ctx, command, cpu, away)
		if err != nil {
			return err
		}
		s.others = append(s.others, other)
	}
	return nil
}

// all is it and the others.
func (s *server) all() []*server { return append([]*server{s}, s.others...) }

// urls are those of the servers for a work, with commas between them.
func (s *server) urls(w work) string {
	if w.Kind != quorum {
		return s.url
	}
	var urls []string
	for _, one := range s.all() {
		urls = append(urls, one.url)
	}
	return strings.Join(urls, ",")
}

// clear empties all; scripts and connections stay as they are.
func (s *server) clear() error {
	var errs []error
	for _, one := range s.all() {
		errs = append(errs, one.Do("FLUSHALL").Err())
	}
	return errors.Join(errs...)
}

// Counters are those of all together.
func (s *server) Counters() (sum resp.Counters, err error) {
	for _, one := range s.all() {
		c, err := one.Server.Counters()
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(c)
	}
	return sum, nil
}

// Close stops the servers and removes their folders.
func (s *server) Close() error {
	for _, one := range s.others {
		one.Close()
	}
	if s.proxy != nil {
		s.proxy.Close()
	}
	s.Kill()
	return os.RemoveAll(s.Dir)
}

// dial is a bare connection, which costs a client next to nothing: the ceiling and the raw messages use it.
func dial(url string) (*resp.Conn, error) {
	return resp.Dial("tcp", strings.TrimPrefix(url, "redis://"), "", "", redisserver.AdminTimeout)
}

// sent counts the commands that clients sent: script calls, and those that a contestant sends besides.
func sent(c resp.Counters, besides []string) int64 {
	total := c.Commands["evalsha"] + c.Commands["eval"]
	for _, command := range besides {
		total += c.Commands[command]
	}
	return total
}
