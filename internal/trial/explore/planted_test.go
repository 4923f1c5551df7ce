package explore

import (
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/wheellock/wheellock/internal/trial/planted"
)

var plantedFlag = flag.Bool("planted", false, "build the explorer with bugs in gates and scripts, and see each found")

// bugs are the planted ones of gates and scripts.
var bugs = []string{
	"an acquire that ignores that its TTL was refused",
	"a permit_take that ignores that a lease was refused",
	"an acquire that counts, sent twice",
	"no second question once the subscription is confirmed",
	"a deadline that counts from the answer",
	"a release that does not look at the owner",
	"a token that INCR gives",
	"a cancelled call that is forgotten",
	"a change that has its effect twice",
	"permits that are given back twice",
	"a limit that does not count the holds",
	"a reader let in beside the writer",
	"a confirmation in vain that is repeated at once",
	"a number in a fair queue that is used again after its release",
	"a later waiter that stands before the first",
	"a place that comes back and is not given up",
	"a least time that counts from an old reading of the clock",
	"a least time that a crash cuts short",
	"a lock that two adopt",
	"an adoption without an answer that nobody releases",
	"a hold that its own engine adopts, with an owner that nobody releases",
	"an adoption of a hold of one's own engine that is turned away",
	"a mutex that needs the key of its line while its slot is open",
	"a hold that lasts as long as its tenure",
	"an uncertain acquire that is not released when nothing can arrive any more",
	"a renewal after the unlock",
	"a lease of what was given that counts from when it is heard of",
	"a message that is taken for a code whatever it says",
	"a lock that is given for less than its place says",
	"a place that a forced release does not end",
	"a place that nobody wants and nobody gives up",
	"a place of a tenure that got no answer before",
	"a place that was freed by force and is asked for again",
	"a least time under what is left of a gift",
	"a place that nobody waits at and that stands",
	"a code that counts although its owner came into line twice",
	"a hint that is lost while a question is on its way",
	"a code of a claim that its next question has, too",
	"a code of an owner id that came into line by an acquire without an answer",
	"a second place of an engine when its first waiter believes no message",
	"a line without an end",
	"a lock that is given to the second in line",
	"a lock that is given to a dead engine",
	"a lock that its owner gets back because it stands in line",
	"a first in line that does not listen beside an outsider",
	"a waiter behind one that gives up beside an outsider",
	"a turn of others of which the first in line is not told",
	"a token that the given hold does not get anew",
	"a fenced lock that takes its tokens from the message",
	"a fair lock that is given to the second of its queue",
	"a change that is sent again when its receipt has run out",
	"a take that leaves permits and calls nobody",
	"permits that are taken while another engine is called",
	"a release of permits that calls nobody",
	"a place for permits that nobody gives up",
	"a repeated take that is granted to all callers, whatever Redis has of theirs",
	"a call to the line that the answer to a release ends",
	"a name refused in a wide call that counts as held by another",
	"a name refused in a wide call that is charged to the others",
	"a simple lock that is freed whoever has it",
	"a simple lock whose renewal loses the TTL",
	"a simple lock whose adoption loses the TTL",
	"a simple lock that is refused to the owner that has it",
	"a simple lock before which an orphan stands in line",
	"a caller that fails fast and waits for the end of an outage",
}

var (
	violated = regexp.MustCompile(`explore_test.go:\d+: (?:world (.+), seed (\d+): )?([a-z-]+): `)
	searched = regexp.MustCompile(`explore_test.go:\d+: (\d+) states, (\d+) steps`)
)

// The explorer finds mistakes without a test that was written for them. The table says by which world, and after how many
// states or walks.
func TestPlanted(t *testing.T) {
	if !*plantedFlag {
		t.Skip("with -planted only: it builds the explorer with bugs, one after the other")
	}
	planted.Table(t, bugs, func(t *testing.T, b planted.Bug) string { return hunt(b.Build(t, "../../..")) })
}

// hunt runs the explorer with a bug in it, first what make test runs of it, then the beginning of each world, and says what was found, and
// after how much.
func hunt(binary string) string {
	for _, args := range [][]string{
		{"-test.failfast", "-test.run", "^TestSearch$"},
		{"-test.failfast", "-test.run", "^TestWalk$"},
		{"-test.run", "^TestSearch$", "-full", "-states", "20000"},
		{"-test.failfast", "-test.run", "^TestWalk$", "-walks", "50000"},
		{"-test.failfast", "-test.run", "^TestSearch$", "-full"},
	} {
		text, _ := exec.Command(binary, append([]string{"-test.v"}, args...)...).CombinedOutput()
		found := violated.FindSubmatchIndex(text)
		if found == nil {
			continue
		}
		invariant := string(text[found[6]:found[7]])
		if found[2] >= 0 { // a walk
			return fmt.Sprintf("%s | walk of %s, seed %s", invariant, text[found[2]:found[3]], text[found[4]:found[5]])
		}
		before := searched.FindAllSubmatch(text[:found[0]], -1)
		how := "search"
		if slices.Contains(args, "-full") {
			how = "full search"
		}
		return fmt.Sprintf("%s | %s, %s states", invariant, how, before[len(before)-1][1])
	}
	return ""
}
