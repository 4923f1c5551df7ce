package target

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/proc"
)

// Keep runs a private redis-server for the process that holds the other end of in. When that end closes,
// because the process closed it or because it died of whatever, the server is killed and its directory
// removed: so nothing is left behind also after a panic or a SIGKILL. It is the whole work of a keeper process.
func Keep(in io.Reader, out io.Writer) (exit int) {
	// Linux kills the server when the thread that started it ends, should this keeper be killed too.
	runtime.LockOSThread()
	orders := bufio.NewReader(in)
	line, err := orders.ReadBytes('\n')
	var o order
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return 1 // nobody is there to be told
	}
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, orders) // returns when the other end is closed
		close(gone)
	}()
	say := json.NewEncoder(out)
	s, err := launch(o.Program, gone)
	if err != nil {
		say.Encode(word{Error: err.Error()})
		return 1
	}
	defer s.remove()
	say.Encode(word{URL: s.url, Place: s.addr, Network: s.kind})
	select {
	case <-gone:
	case <-s.ended:
		say.Encode(word{Error: fmt.Sprintf("redis-server ended in the middle of the run: %v", s.cmd.ProcessState)})
		<-gone
	}
	return 0
}

// server is a redis-server process with a directory of its own.
type server struct {
	cmd     *exec.Cmd
	dir     string
	url     string
	kind    string // of connection, for people
	network string // "unix" or "tcp"
	addr    string // path, or host and port
	words   *lastWords
	ended   chan struct{} // closed when the process has been reaped
}

// launch starts a server and returns when it answers.
func launch(program string, gone <-chan struct{}) (*server, error) {
	dir, err := os.MkdirTemp("", "loadgen-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, words: &lastWords{}, ended: make(chan struct{})}
	args, err := s.listen()
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.cmd = exec.Command(program, append(args, "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", "")...)
	s.cmd.Stdout, s.cmd.Stderr = s.words, s.words
	proc.DieWithParent(s.cmd)
	if err := s.cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		s.cmd.Wait() // how it ended is in its words
		close(s.ended)
	}()
	if err := s.answer(gone); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// maxSocket is how long the path of a unix socket may be: 104 bytes on macOS, with the zero at its end.
const maxSocket = 103

// listen chooses where the server listens: a unix socket, or a loopback port where its path is too long.
func (s *server) listen() (args []string, err error) {
	if path := filepath.Join(s.dir, "redis.sock"); runtime.GOOS != "windows" && len(path) <= maxSocket {
		s.network, s.addr, s.url, s.kind = "unix", path, "unix://"+path, "unix socket"
		return []string{"--port", "0", "--unixsocket", path, "--unixsocketperm", "700"}, nil
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	s.network, s.addr = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.url, s.kind = "redis://"+s.addr, "loopback port"
	return []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1"}, nil
}

// answer returns when the server answers, or cannot any more.
func (s *server) answer(gone <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startUp)
	defer cancel()
	for {
		if s.ping(ctx) {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("redis-server ended at once (%v): %s", s.cmd.ProcessState, s.words)
		case <-gone:
			return context.Canceled
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer after %v: %s", startUp, s.words)
		case <-time.After(5 * time.Millisecond): // it says in its log when it is ready, in other words each version
		}
	}
}

func (s *server) ping(ctx context.Context) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, s.network, s.addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	pong, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && strings.HasPrefix(pong, "+PONG")
}

// remove kills the server and everything it started, and removes its directory.
func (s *server) remove() {
	select {
	case <-s.ended: // its number may be somebody else's by now
	default:
		proc.KillGroup(s.cmd.Process)
		<-s.ended
	}
	os.RemoveAll(s.dir)
}

// lastWords keeps the end of what a process writes.
type lastWords struct {
	mu   sync.Mutex // guards the rest
	text []byte
}

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.text = w.text[max(0, len(w.text)-2<<10):]
	return len(p), nil
}

// String is the last lines, in one.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.FieldsFunc(string(w.text), func(r rune) bool { return r == '\n' })
	if len(lines) == 0 {
		return "it said nothing"
	}
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}
