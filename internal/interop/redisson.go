// Package interop proves that wheellock and Redisson share locks: its tests drive a real Redisson client, in a
// Java process of its own (bench/redisson), beside our engine, on one redis-server.
//
// redisson.go starts and talks to that process. matrix_test.go holds what every kind must show, the other
// files what is particular to one.
package interop

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// Redisson is a Java process with a Redisson client.
type Redisson struct {
	tb      testing.TB
	process *exec.Cmd
	in      io.WriteCloser
	done    chan struct{} // closed when it has said its last line

	mu      sync.Mutex // guards the rest
	last    int
	answers map[string]chan string
}

// StartRedisson starts a client of the server. args are flags of the driver, as bench/redisson/README.md
// names them. It takes Java, Maven and, the first time, Maven Central; so it runs only where WHEELLOCK_INTEROP is
// set, as make interop does, and elsewhere the test is skipped loudly.
func StartRedisson(tb testing.TB, server *redistest.Server, args ...string) *Redisson {
	tb.Helper()
	if os.Getenv("WHEELLOCK_INTEROP") == "" {
		tb.Skip("SKIPPED: make interop runs it. NOT PROVED: that Redisson and wheellock agree")
	}
	redistest.Require(tb, "java", "mvn")
	args = append([]string{"-jar", jar(tb), "--redis", server.URL()}, args...)
	r := &Redisson{tb: tb, process: exec.Command("java", args...), done: make(chan struct{}), answers: make(map[string]chan string)}
	r.process.Stderr = os.Stderr
	in, err := r.process.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.process.Start(); err != nil {
		tb.Fatal(err)
	}
	r.in = in
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ready ") {
		tb.Fatalf("Redisson did not get ready: %q", lines.Text())
	}
	go r.read(lines)
	tb.Cleanup(func() {
		r.in.Close() // it ends by itself at the end of its input
		<-r.done
		r.process.Wait()
	})
	return r
}

var build sync.Once

// jar builds the driver once a test run, without the network where Maven has all it needs.
func jar(tb testing.TB) string {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(here), "..", "..", "bench", "redisson")
	build.Do(func() {
		if fresh(folder) {
			return
		}
		pom := filepath.Join(folder, "pom.xml")
		if exec.Command("mvn", "-q", "-o", "-f", pom, "package").Run() == nil {
			return
		}
		if said, err := exec.Command("mvn", "-q", "-f", pom, "package").CombinedOutput(); err != nil {
			tb.Fatalf("mvn package: %v\n%s", err, said)
		}
	})
	return filepath.Join(folder, "target", "redisson-driver.jar")
}

// fresh reports whether the driver was built after its sources were last changed.
func fresh(folder string) bool {
	built, err := os.Stat(filepath.Join(folder, "target", "redisson-driver.jar"))
	if err != nil {
		return false
	}
	newest := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if entry != nil && entry.Name() == "target" {
				return filepath.SkipDir
			}
			return err
		}
		if info, err := entry.Info(); err != nil || info.ModTime().After(built.ModTime()) {
			return errors.New("newer")
		}
		return nil
	})
	return newest == nil
}

func (r *Redisson) read(lines *bufio.Scanner) {
	defer close(r.done)
	for lines.Scan() {
		id, answer, _ := strings.Cut(lines.Text(), " ")
		r.mu.Lock()
		to := r.answers[id]
		delete(r.answers, id)
		r.mu.Unlock()
		if to != nil {
			to <- answer
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, to := range r.answers {
		to <- "err Gone the process has ended"
	}
	r.answers = nil
}

// Start sends a command and returns where its answer will be.
func (r *Redisson) Start(format string, args ...any) <-chan string {
	r.mu.Lock()
	r.last++
	id := strconv.Itoa(r.last)
	to := make(chan string, 1)
	if r.answers == nil {
		to <- "err Gone the process has ended"
	} else {
		r.answers[id] = to
	}
	r.mu.Unlock()
	fmt.Fprintf(r.in, "%s %s\n", id, fmt.Sprintf(format, args...))
	return to
}

// Try does a command and returns what Redisson answered; false: it threw, and what.
func (r *Redisson) Try(format string, args ...any) (string, bool) {
	r.tb.Helper()
	return read(<-r.Start(format, args...))
}

// Do does a command, which must go well.
func (r *Redisson) Do(format string, args ...any) string {
	r.tb.Helper()
	answer, ok := r.Try(format, args...)
	if !ok {
		r.tb.Fatalf("Redisson: %s: %s", fmt.Sprintf(format, args...), answer)
	}
	return answer
}

func read(line string) (string, bool) {
	status, rest, _ := strings.Cut(line, " ")
	return rest, status == "ok"
}

// Kill ends the process as kill -9 does.
func (r *Redisson) Kill() {
	r.process.Process.Kill()
	<-r.done
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
