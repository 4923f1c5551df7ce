// Package redisserver runs Redis processes: server.go finds an address, starts the server and waits until it answers; admin.go is
// a connection to it; sentinel.go is a server that is a sentinel.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Server is one Redis process on this machine with a directory of its own: a redis-server, or a sentinel. It dies with the process
// that started it, as child.Start says. Any goroutine may call its methods.
type Server struct {
	Program  []string // what runs; the first word is looked for on the PATH
	Dir      string   // of the log, the data and the configuration; whoever made it removes it
	Password string   // of the default user; empty: none
	Args     []string // added to the command line of a redis-server; they win over the defaults
	Apart    bool     // a terminal's Ctrl-C does not reach it
	// Command gives the command line of what is no redis-server, and may write files into Dir first.
	Command func(s *Server) ([]string, error)

	Port   int // 0: it listens on a socket
	*Admin     // nil before the first start

	mu      sync.Mutex // held while the process is started; guards process
	process *child.Process
}

// ErrPortTaken says that the server ended because it could not listen.
var ErrPortTaken = errors.New("port taken")

// Start runs the server on a free loopback port, and on another when someone else was quicker.
func (s *Server) Start(ctx context.Context) error {
	for range 10 {
		port, err := FreePort()
		if err != nil {
			return err
		}
		s.Port, s.Admin = port, &Admin{Network: "tcp", Addr: Loopback(port), Password: s.Password}
		if err = s.Launch(ctx); !errors.Is(err, ErrPortTaken) {
			return err
		}
	}
	return fmt.Errorf("ten ports in a row were taken while %s started", s.Program)
}

// maxSocket is how long the path of a unix socket may be: 104 bytes on macOS, with the zero at its end.
const maxSocket = 103

// StartOnSocket runs a redis-server on a unix socket in its directory, or where that path is too long on a port.
func (s *Server) StartOnSocket(ctx context.Context) error {
	path := filepath.Join(s.Dir, "redis.sock")
	if runtime.GOOS == "windows" || len(path) > maxSocket {
		return s.Start(ctx)
	}
	s.Args = append(s.Args, "--unixsocket", path, "--unixsocketperm", "700")
	s.Admin = &Admin{Network: "unix", Addr: path}
	return s.Launch(ctx)
}

// command is the command line of a redis-server, which keeps nothing on disk unless Args say so.
func (s *Server) command() ([]string, error) {
	if s.Command != nil {
		return s.Command(s)
	}
	return append([]string{
		"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir,
		// Protected mode asks for the peer's address, which a connection that was reset before it
		// was accepted no longer has: Redis would take it for a stranger and drop its requests.
		"--protected-mode", "no",
		"--save", "", "--appendonly", "no",
		"--repl-diskless-sync-delay", "0", // the default makes every replica wait 5 s
	}, s.Args...), nil
}

// Launch starts the process at the server's address and returns once it answers.
func (s *Server) Launch(ctx context.Context) error {
	args, err := s.command()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own copy
	words := append(slices.Clone(s.Program), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, log, log
	if s.Apart {
		child.Apart(cmd)
	}
	s.mu.Lock()
	s.process, err = child.Start(cmd)
	p := s.process
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("starting %s: %w", words[0], err)
	}
	answered := child.Await(func() bool { return ctx.Err() != nil || !p.Alive() || s.answers(p.PID()) })
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case answered && p.Alive():
		return nil
	case strings.Contains(s.LogTail(), "Address already in use"):
		err = fmt.Errorf("%w: %s", ErrPortTaken, s.Admin.Addr)
	case answered:
		err = fmt.Errorf("%s ended at once (%s): %s", words[0], p.State(), s.LastWords())
	default:
		err = fmt.Errorf("%s does not answer: %s", words[0], s.LastWords())
	}
	s.Kill()
	return err
}

// answers reports whether the process pid itself, and not another on the same port, serves commands.
func (s *Server) answers(pid int) bool {
	return s.Do("PING").Err() == nil && resp.InfoFields(s.Do("INFO", "server").Text)["process_id"] == strconv.Itoa(pid)
}

// Process is the running process, or the last one; nil before the first start.
func (s *Server) Process() *child.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Kill ends the process with SIGKILL and returns when it is gone. Killing a dead server, or one that never was, does nothing.
func (s *Server) Kill() {
	if p := s.Process(); p != nil {
		p.Kill()
		s.Admin.Close()
	}
}

func (s *Server) logPath() string { return filepath.Join(s.Dir, "log") }

// LogTail is the last 4 KiB of the log, of this start and those before.
func (s *Server) LogTail() string {
	log, err := os.ReadFile(s.logPath())
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(log[max(0, len(log)-4<<10):])
}

// LastWords are the last lines of the log, in one.
func (s *Server) LastWords() string {
	lines := strings.FieldsFunc(s.LogTail(), func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-5):], " / ")
}
