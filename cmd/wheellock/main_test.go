package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
)

// asProgram, set in the environment, makes this test's program wheellock itself.
const asProgram = "WHEELLOCK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	testkit.Main(m)
}

// program is wheellock as a process, with the words of its flags for Redis.
type program struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// patient has a URL say that a server may be silent for six seconds, and not two, before its connection counts as dead: a machine that
// stands still for a while is no reason to give up. A URL with a time of its own is left as it is.
func patient(url string) string {
	if strings.Contains(url, "_timeout=") {
		return url
	}
	mark := "?"
	if strings.Contains(url, mark) {
		mark = "&"
	}
	return url + mark + "dial_timeout=6s&write_timeout=6s"
}

// patiently has patient URLs behind --redis, unless a lease is given, of which they would be too much.
func patiently(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args[:max(0, len(args)-1)] {
		if arg == "--redis" && strings.HasPrefix(args[i+1], "redis") && !slices.Contains(args, "--lease") {
			args[i+1] = patient(args[i+1])
		}
	}
	return args
}

// wheellock makes a process, which is not started yet.
func wheellock(t *testing.T, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	testkit.Must(t, err)
	p := &program{Cmd: exec.Command(self, patiently(args)...)}
	p.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	p.WaitDelay = 10 * time.Second
	return p
}

// inside runs wheellock in this process, for what needs no signals.
func inside(t *testing.T, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	if got := run(t.Context(), patiently(args), strings.NewReader(""), &out, &err); got != exit {
		t.Fatalf("%q: exit code %d, want %d; it said:\n%s%s", args, got, exit, out.String(), err.String())
	}
	return out.String(), err.String()
}

// begin starts it, and kills it at the end of the test if it is not over.
func (p *program) begin(t *testing.T) *program {
	t.Helper()
	testkit.Must(t, p.Start())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

// end waits for its end, and returns its exit code.
func (p *program) end(t *testing.T) int {
	t.Helper()
	late := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer late.Stop()
	if err := p.Wait(); errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("%q has ended, and something that it started lives and has its output", p.Args[1:])
	}
	return p.ProcessState.ExitCode()
}

// run runs it from beginning to end.
func (p *program) run(t *testing.T) int {
	t.Helper()
	return p.begin(t).end(t)
}

// want complains of another exit code, or of output without these words.
func (p *program) want(t *testing.T, exit int, words ...string) *program {
	t.Helper()
	if p.ProcessState == nil {
		p.run(t)
	}
	said := p.stdout.String() + p.stderr.String()
	if got := p.ProcessState.ExitCode(); got != exit {
		t.Fatalf("%q: exit code %d, want %d; it said:\n%s", p.Args[1:], got, exit, said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%q said:\n%s\nwant %q in it", p.Args[1:], said, word)
		}
	}
	return p
}

// decode reads the JSON values of its standard output.
func decode[T any](t *testing.T, p *program) (values []T) {
	t.Helper()
	for decoder := json.NewDecoder(strings.NewReader(p.stdout.String())); decoder.More(); {
		var v T
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("%q: %v in %s", p.Args[1:], err, p.stdout.String())
		}
		values = append(values, v)
	}
	return values
}
