package redistest

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Server is one Redis process on loopback with a directory of its own: a redis-server, or a sentinel.
// Any goroutine may call its methods.
type Server struct {
	tb     testing.TB
	server *redisserver.Server
}

// Reply is one answer of Redis.
type Reply = resp.Reply

// Start runs a private redis-server until the end of the test and returns once it answers. It listens on
// a free loopback port and keeps nothing on disk; args are added to its command line and win over the
// defaults ("--appendonly", "yes"). The password of --requirepass is understood; other ways to close the
// default user lock the admin connection out. When the test fails, the end of the server's log is shown.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	Require(tb, "redis-server")
	return run(tb, &redisserver.Server{Program: []string{"redis-server"}, Password: valueOf(args, "--requirepass"), Args: args})
}

// StartNewer is Start of a server that has WAITAOF: the one on the PATH if it is Redis 7.2 or newer, else a Redis 8, which
// .ci/server fetches. Without it the test is skipped, and in CI that is a failure.
func StartNewer(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return run(tb, &redisserver.Server{Program: []string{newer(tb)}, Password: valueOf(args, "--requirepass"), Args: args})
}

// valueOf is what follows flag in args, or nothing.
func valueOf(args []string, flag string) string {
	for i, arg := range args[:max(0, len(args)-1)] {
		if arg == flag {
			return args[i+1]
		}
	}
	return ""
}

// run starts a server until the end of the test.
func run(tb testing.TB, server *redisserver.Server) *Server {
	tb.Helper()
	server.Dir = tb.TempDir() // the directory goes after the server
	s := &Server{tb, server}
	tb.Cleanup(s.cleanup)
	if err := server.Start(context.Background()); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	return s
}

// Addr is the server's "host:port".
func (s *Server) Addr() string { return redisserver.Loopback(s.server.Port) }

// URL is the server's address as clients take it, with the password if there is one.
func (s *Server) URL() string {
	where := url.URL{Scheme: "redis", Host: s.Addr()}
	if s.server.Password != "" {
		where.User = url.UserPassword("", s.server.Password)
	}
	return where.String()
}

// PID is the number of the running process, or of the last one.
func (s *Server) PID() int { return s.server.Process().PID() }

// Do sends a command over the admin connection and waits up to 5 s for the answer, which says by Err
// whether that went well. The connection mends itself; when it breaks between a command's running and its
// answer, the command runs again.
func (s *Server) Do(args ...string) Reply { return s.server.Do(args...) }

// MustDo is Do for a command that has to succeed.
func (s *Server) MustDo(args ...string) Reply {
	s.tb.Helper()
	reply := s.Do(args...)
	if err := reply.Err(); err != nil {
		s.tb.Fatalf("redistest: %q: %v", args, err)
	}
	return reply
}

// Kill ends the process with SIGKILL and returns when it is gone. Killing a dead server does nothing.
func (s *Server) Kill() { s.server.Kill() }

// Restart starts the server again on the same port and in the same directory, after killing it if need
// be. What it remembers is what its configuration made it write: by default nothing.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	var err error
	child.Await(func() bool {
		err = s.server.Launch(context.Background())
		return !errors.Is(err, redisserver.ErrPortTaken)
	})
	if err != nil {
		s.tb.Fatalf("redistest: %v", err)
	}
}

// Freeze stops the process where it stands (SIGSTOP): connections stay open, the kernel still accepts
// new ones, and nothing is answered until Thaw. On Linux the process stands still when Freeze returns.
func (s *Server) Freeze() {
	s.tb.Helper()
	if err := s.server.Process().Freeze(); err != nil {
		s.tb.Fatalf("redistest: freezing %s: %v", s.Addr(), err)
	}
}

// Thaw lets a frozen process go on. Thawing a running one does nothing.
func (s *Server) Thaw() {
	s.tb.Helper()
	if err := s.server.Process().Thaw(); err != nil {
		s.tb.Fatalf("redistest: thawing %s: %v", s.Addr(), err)
	}
}

func (s *Server) alive() bool { return s.server.Process().Alive() }

// cleanup ends the process and shows its last words when the test failed.
func (s *Server) cleanup() {
	s.server.Kill()
	if s.tb.Failed() {
		s.tb.Logf("the last of the log of %s at %s:\n%s", s.server.Program, s.Addr(), s.server.LogTail())
	}
}
