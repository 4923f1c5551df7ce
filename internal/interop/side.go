// Package interop proves that wheellock and Redisson share locks: its tests drive a real Redisson client, in a
// Java process of its own (bench/redisson), beside our engine, on one redis-server.
//
// driver talks to that process (side.go), redisson.go builds and starts it. ours_test.go obeys the same commands with our
// engine, also as a process of its own. matrix_test.go, contend_test.go and death_test.go hold what every kind must show,
// messages_test.go what they publish, share_test.go how often each side gets in, cluster_test.go the same in a cluster,
// weak_test.go what Redisson does worse, versions_test.go what its other versions share, document_test.go the programs of docs/JAVA.md,
// the other files what is particular to one kind. MAPPING.md tells which of our tests shows what each of Redisson's own tests shows.
package interop

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/interop/driver"
)

// Side is a driver in a test.
type Side struct {
	*driver.Driver
	tb testing.TB
}

// Drive runs a driver until the end of the test.
func Drive(tb testing.TB, command *exec.Cmd) *Side {
	tb.Helper()
	d, err := driver.New(command)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(d.Close)
	return &Side{d, tb}
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

// Field reads one "name=value" of an answer.
func Field(tb testing.TB, answer, name string) int64 {
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

func read(answer string) (string, bool) { return driver.Read(answer) }
