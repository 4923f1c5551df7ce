package bubble

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/trial/planted"
)

var (
	plantedFlag = flag.Bool("planted", false, "build engines with bugs that there have been, and see each found")
	hours       = flag.Duration("planted-for", 60*time.Hour, "virtual time for each")
)

// bugs are the planted ones that worlds of whole engines can meet.
var bugs = []string{
	"parts of a lost MultiLock that nobody gives back",
	"a MultiLock that keeps nothing while it waits",
	"a majority that nobody repairs",
	"a loss that is not final",
	"a suspension that is noticed a second late",
	"a server's clock that is taken for the middle of a round trip",
	"permits that are given back twice",
	"an extension of permits that counts by the answer to an earlier call",
	"a hold found over, of which the loop is not told",
	"a loss that the loop is not told of",
	"a TryLock whose lease is over when its answer comes, asked again",
	"an acquire that ignores that its TTL was refused",
	"a deadline that counts from the answer",
	"a change that has its effect twice",
	"a reader let in beside the writer",
	"a cancelled call that is forgotten",
	"a holder that is never told of waiters of other processes",
	"a holder that is told of those who waited for an earlier one",
	"a step of a MultiLock that waits for a callback worker",
	"an engine that closes its first dispatcher only",
	"an end of a hold that goes to the first dispatcher",
	"a fair lock that is given to the second of its queue",
}

// only is the kind of names that a bug concerns, where worlds of all kinds seldom meet it: in 20 hours once or not at all.
var only = map[string]string{"a change that has its effect twice": "semaphore"}

// The worlds find the bugs that there have been. There is no test for any of them here.
func TestPlanted(t *testing.T) {
	if !*plantedFlag {
		t.Skip("with -planted only: it builds engines with bugs, one after the other")
	}
	planted.Table(t, bugs, run)
}

var (
	failed = regexp.MustCompile(`seed (\d+)[,: ]`)
	oracle = regexp.MustCompile(`VIOLATION \S+ (\w+)|: (spin): |^(panic): `)
)

// run runs worlds on the engine with the bug, and says what was found where.
func run(t *testing.T, b planted.Bug) string {
	t.Helper()
	binary := b.Build(t, "../../..", "-tags", "wheellock_stall")
	began := time.Now()
	text, err := exec.Command(binary, "-test.run", "^TestBubble$", "-test.timeout", "2h", "-for", hours.String(), "-kind", only[b.Name]).CombinedOutput()
	if err == nil || bytes.Contains(text, []byte("panic: test timed out")) { // the machine was busy
		t.Logf("%s", last(string(text), 2000))
		return ""
	}
	seed, what := "?", "?"
	if m := failed.FindSubmatch(text); m != nil {
		seed = string(m[1])
	}
	if m := oracle.FindSubmatch(text); m != nil {
		what = string(m[1]) + string(m[2]) + string(m[3])
	}
	t.Logf("%s", last(string(text), 2000))
	return fmt.Sprintf("%s, seed %s, after %v", what, seed, time.Since(began).Round(time.Second))
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }
