package suites

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

var atLength = flag.Bool("at-length", false, "also the suites that take long, or that a busy machine makes fail")

// Their tests pass, but for those in the table. Each has a process and servers of its own.
func TestSuites(t *testing.T) {
	redistest.Require(t, "redis-server")
	for _, s := range suites {
		t.Run(s.shim, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			made := s.join(t, dir)
			for _, l := range s.out {
				if !made.known[l.test] {
					t.Errorf("the table has %s, which is none of the tests", l.test)
				}
				t.Logf("left out: %s: %s", l.test, l.why)
			}
			if !s.long || *atLength {
				s.run(t, dir, made)
			}
		})
	}
}

// run runs what was joined.
func (s *suite) run(t *testing.T, dir string, made joined) {
	binary := filepath.Join(dir, "suite.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", made.overlay, "-o", binary, "./"+s.shim)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if len(made.tests) == 0 {
		t.Error("there are no tests")
	}
	out := make(map[string]bool)
	for _, l := range s.out {
		out[l.test] = true
		t.Run(l.test, func(t *testing.T) {
			t.Parallel()
			said, err := s.test(t, binary, l.test)
			if err == nil {
				t.Errorf("it passes, or is no more, but the table has it: %s", l.why)
			} else if !strings.Contains(said, l.says) {
				t.Errorf("it does not say %q: %s\n%s", l.says, l.why, said)
			}
		})
	}
	for _, test := range made.tests {
		if out[test] {
			continue
		}
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			if said, err := s.test(t, binary, test); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

// test runs one, and returns the beginning of what it said.
func (s *suite) test(t *testing.T, binary, name string) (string, error) {
	cmd := exec.Command(binary, "-test.v", "-test.run", "^"+name+"$", "-test.timeout", "5m")
	cmd.Dir = s.shim
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	said, err := cmd.CombinedOutput()
	return string(said[:min(len(said), 4<<10)]), err
}
