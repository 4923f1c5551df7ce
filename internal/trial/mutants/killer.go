package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Killer is a run of a test binary that may find a mutant.
type Killer struct {
	Name     string
	Explorer bool // else it is a unit test
	binary   string
	dir      string // where it runs; empty: where the mutant's files are
	args     []string
	took     time.Duration        // without a mutant
	reaches  func(m *Mutant) bool // whether it runs the code that was changed
}

const (
	memory     = 6_000_000 // kB of address space; redis-server and Go reserve more than they use
	slower     = 5         // how many times longer than without a mutant a test may take, on a busy machine
	leastLimit = 2 * time.Second
	patience   = 30 * time.Second // more than that, by the clock, at first: on a busy machine a test waits for the processors
)

// timedOut is why a run failed that waited for ever.
const timedOut = "timed out"

// outcome is what a run of a killer came to.
type outcome struct {
	failed bool
	took   time.Duration // of processor time
	test   string        // that failed; empty: it is not known
	why    string        // the first lines of the output that tell
}

// run runs the tests, with what the environment says besides. A mutant that loops is stopped by the limit of processor time, and
// one that waits for ever by the clock, after so much more.
func (k *Killer) run(dir string, more time.Duration, env ...string) outcome {
	limit := max(slower*k.took, leastLimit)
	ctx, cancel := context.WithTimeout(context.Background(), limit+more)
	defer cancel()
	script := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, memory, int(limit.Seconds())+1)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, k.binary}, k.args...)...)
	cmd.Dir = k.dir
	if k.dir == "" {
		cmd.Dir = dir
	}
	cmd.Env = append(append(os.Environ(), "GOMAXPROCS=1"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&said}, &limited{&said}
	err := cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // servers that a killed test left behind; nobody may be there
	}
	o := outcome{failed: err != nil}
	if cmd.ProcessState != nil {
		o.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch exit := new(exec.ExitError); {
	case err == nil:
	case ctx.Err() != nil:
		o.why = timedOut
	case errors.As(err, &exit) && !exit.Exited():
		o.why = "took too much processor time"
	default:
		o.why = telling(said.String())
		if found := failed.FindStringSubmatch(said.String()); found != nil {
			o.test = found[1]
		}
	}
	return o
}

// limited keeps the beginning of what a test says.
type limited struct{ buffer *bytes.Buffer }

func (l *limited) Write(text []byte) (int, error) {
	if room := 1<<16 - l.buffer.Len(); room > 0 {
		l.buffer.Write(text[:min(room, len(text))])
	}
	return len(text), nil
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

var fails = regexp.MustCompile(`(?m)^\s*(?:\S+\.go:\d+: .*|panic: .*|fatal error: .*|--- FAIL: .*)$`)

// telling are the lines of a test's output that say what failed.
func telling(text string) string {
	if found := fails.FindAllString(text, 3); found != nil {
		return cut(strings.Join(strings.Fields(strings.Join(found, " ")), " "))
	}
	return cut(strings.TrimSpace(text))
}
