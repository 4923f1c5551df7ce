package redistest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Server is one Redis process on loopback with a directory of its own: a redis-server, or a sentinel.
// Any goroutine may call its methods.
type Server struct {
	tb     testing.TB
	recipe recipe
	dir    string // of the log, the data and the configuration
	port   int
	admin  *admin

	mu    sync.Mutex // held while the process is started or ended; guards child
	child *process   // nil before the first start
}

// recipe is how to start a kind of server.
type recipe struct {
	program  string
	password string // of the default user; empty: none
	// args gives the command line, and may write files into dir first.
	args func(dir string, port int) ([]string, error)
}

// Start runs a private redis-server until the end of the test and returns once it answers. It listens on
// a free loopback port and keeps nothing on disk; args are added to its command line and win over the
// defaults ("--appendonly", "yes"). The password of --requirepass is understood; other ways to close the
// default user lock the admin connection out. When the test fails, the end of the server's log is shown.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	Require(tb, "redis-server")
	return run(tb, recipe{
		program:  "redis-server",
		password: valueOf(args, "--requirepass"),
		args: func(dir string, port int) ([]string, error) {
			defaults := []string{
				"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
				// Protected mode asks for the peer's address, which a connection that was reset before it
				// was accepted no longer has: Redis would take it for a stranger and drop its requests.
				"--protected-mode", "no",
				"--save", "", "--appendonly", "no",
				"--repl-diskless-sync-delay", "0", // the default makes every replica wait 5 s
			}
			return append(defaults, args...), nil
		},
	})
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

// run starts a server on a free port, and on another when someone else was quicker.
func run(tb testing.TB, recipe recipe) *Server {
	tb.Helper()
	s := &Server{tb: tb, recipe: recipe, dir: tb.TempDir()} // the directory goes after the server
	tb.Cleanup(s.cleanup)
	for range 10 {
		port, err := freePort()
		if err != nil {
			tb.Fatal(err)
		}
		s.port, s.admin = port, &admin{addr: loopback(port), password: recipe.password}
		if err = s.launch(); err == nil {
			return s
		}
		if !errors.Is(err, errPortTaken) {
			tb.Fatal(err)
		}
	}
	tb.Fatalf("redistest: ten ports in a row were taken while %s started", recipe.program)
	return nil
}

// errPortTaken says that the server ended because it could not listen.
var errPortTaken = errors.New("redistest: port taken")

// launch starts the process on the server's port and returns once it answers.
func (s *Server) launch() error {
	args, err := s.recipe.args(s.dir, s.port)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.child, err = startProcess(s.recipe.program, args, s.dir, log)
	child := s.child
	s.mu.Unlock()
	if err = errors.Join(err, log.Close()); err != nil { // the child has its own copy
		return err
	}
	answered := holds(func() bool { return !child.alive() || s.answers(child.pid()) })
	switch {
	case answered && child.alive():
		return nil
	case strings.Contains(s.logTail(), "Address already in use"):
		return fmt.Errorf("%w: %s", errPortTaken, s.Addr())
	case answered:
		return fmt.Errorf("redistest: %s ended at once:\n%s", s.recipe.program, s.logTail())
	default:
		return fmt.Errorf("redistest: %s does not answer:\n%s", s.recipe.program, s.logTail())
	}
}

// answers reports whether the process pid itself, and not another on the same port, serves commands.
func (s *Server) answers(pid int) bool {
	if s.admin.do("PING").Err() != nil {
		return false
	}
	return infoFields(s.admin.do("INFO", "server").Text)["process_id"] == strconv.Itoa(pid)
}

// Addr is the server's "host:port".
func (s *Server) Addr() string { return loopback(s.port) }

// URL is the server's address as clients take it, with the password if there is one.
func (s *Server) URL() string {
	where := url.URL{Scheme: "redis", Host: s.Addr()}
	if s.recipe.password != "" {
		where.User = url.UserPassword("", s.recipe.password)
	}
	return where.String()
}

// PID is the number of the running process, or of the last one.
func (s *Server) PID() int { return s.running().pid() }

// Do sends a command over the admin connection and waits up to 5 s for the answer, which says by Err
// whether that went well. The connection mends itself; when it breaks between a command's running and its
// answer, the command runs again.
func (s *Server) Do(args ...string) Reply { return s.admin.do(args...) }

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
func (s *Server) Kill() {
	s.running().kill()
	s.admin.close()
}

// Restart starts the server again on the same port and in the same directory, after killing it if need
// be. What it remembers is what its configuration made it write: by default nothing.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	var err error
	if !holds(func() bool { err = s.launch(); return !errors.Is(err, errPortTaken) }) || err != nil {
		s.tb.Fatal(err)
	}
}

// Freeze stops the process where it stands (SIGSTOP): connections stay open, the kernel still accepts
// new ones, and nothing is answered until Thaw. On Linux the process stands still when Freeze returns.
func (s *Server) Freeze() {
	s.tb.Helper()
	if err := s.running().freeze(); err != nil {
		s.tb.Fatalf("redistest: freezing %s: %v", s.Addr(), err)
	}
}

// Thaw lets a frozen process go on. Thawing a running one does nothing.
func (s *Server) Thaw() {
	s.tb.Helper()
	if err := s.running().thaw(); err != nil {
		s.tb.Fatalf("redistest: thawing %s: %v", s.Addr(), err)
	}
}

func (s *Server) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child
}

// cleanup ends the process and shows its last words when the test failed.
func (s *Server) cleanup() {
	if child := s.running(); child != nil {
		child.kill()
	}
	if s.admin != nil {
		s.admin.close()
	}
	if s.tb.Failed() {
		s.tb.Logf("the last of the log of %s at %s:\n%s", s.recipe.program, s.Addr(), s.logTail())
	}
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// logTail is the last 4 KiB of the log, of this start and those before.
func (s *Server) logTail() string {
	log, err := os.ReadFile(s.logPath())
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(log[max(0, len(log)-4<<10):])
}
