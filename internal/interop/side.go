// Package interop proves that wheellock and Redisson share locks: its tests drive a real Redisson client, in a
// Java process of its own (bench/redisson), beside our engine, on one redis-server.
//
// side.go talks to that process, redisson.go builds and starts it. ours_test.go obeys the same commands with our
// engine, also as a process of its own. matrix_test.go, contend_test.go and death_test.go hold what every kind must show,
// messages_test.go what they publish, share_test.go how often each side gets in, cluster_test.go the same in a cluster,
// weak_test.go what Redisson does worse, the other files what is particular to one kind. MAPPING.md tells which of our tests shows what each of Redisson's own
// tests shows.
package interop

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Side is a process that obeys the driver's commands (bench/redisson/README.md): Redisson, or an engine of ours.
type Side struct {
	tb      testing.TB
	process *exec.Cmd
	in      io.WriteCloser
	done    chan struct{} // closed when it has said its last line

	mu      sync.Mutex // guards the rest
	last    int
	answers map[string]chan string
}

// start runs a driver, and returns once it is ready.
func start(tb testing.TB, command *exec.Cmd) *Side {
	tb.Helper()
	s := &Side{tb: tb, process: command, done: make(chan struct{}), answers: make(map[string]chan string)}
	s.process.Stderr = os.Stderr
	in, err := s.process.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	s.in = in
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ready ") {
		in.Close()
		s.process.Wait()
		tb.Fatalf("%s did not get ready: %q", command.Path, lines.Text())
	}
	go s.read(lines)
	tb.Cleanup(func() {
		s.in.Close() // it ends by itself at the end of its input
		<-s.done
		s.process.Wait()
	})
	return s
}

func (s *Side) read(lines *bufio.Scanner) {
	defer close(s.done)
	for lines.Scan() {
		id, answer, _ := strings.Cut(lines.Text(), " ")
		s.mu.Lock()
		to := s.answers[id]
		delete(s.answers, id)
		s.mu.Unlock()
		if to != nil {
			to <- answer
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range s.answers {
		to <- "err Gone the process has ended"
	}
	s.answers = nil
}

// Start sends a command and returns where its answer will be.
func (s *Side) Start(format string, args ...any) <-chan string {
	s.mu.Lock()
	s.last++
	id := strconv.Itoa(s.last)
	to := make(chan string, 1)
	if s.answers == nil {
		to <- "err Gone the process has ended"
	} else {
		s.answers[id] = to
	}
	s.mu.Unlock()
	fmt.Fprintf(s.in, "%s %s\n", id, fmt.Sprintf(format, args...))
	return to
}

// Try does a command and returns what Redisson answered; false: it threw, and what.
func (s *Side) Try(format string, args ...any) (string, bool) {
	s.tb.Helper()
	return read(<-s.Start(format, args...))
}

// Do does a command, which must go well.
func (s *Side) Do(format string, args ...any) string {
	s.tb.Helper()
	answer, ok := s.Try(format, args...)
	if !ok {
		s.tb.Fatalf("%s: %s", fmt.Sprintf(format, args...), answer)
	}
	return answer
}

func read(line string) (string, bool) {
	status, rest, _ := strings.Cut(line, " ")
	return rest, status == "ok"
}

// Kill ends the process as kill -9 does.
func (s *Side) Kill() {
	s.process.Process.Kill()
	<-s.done
}

// field reads one "name=value" of an answer.
func field(tb testing.TB, answer, name string) int64 {
	tb.Helper()
	for _, word := range strings.Fields(answer) {
		if value, found := strings.CutPrefix(word, name+"="); found {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				tb.Fatalf("%s in %q: %v", name, answer, err)
			}
			return n
		}
	}
	tb.Fatalf("no %s in %q", name, answer)
	return 0
}
