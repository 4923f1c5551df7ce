package chaos

import (
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/trial/planted"
)

var plantedFlag = flag.Bool("planted", false, "build the harness with bugs in the engine, and see each caught")

// phases are those in which a planted bug shows.
var phases = []struct {
	bug    string
	phases string
}{
	{planted.None.Name, "server ill|data loss|clients|hot locks"},
	{"a token that INCR gives", "data loss"},
	{"a confirmation in vain that is repeated at once", "hot locks"},
	{"a release that does not look at the owner", "data loss"},
}

// The checkers find mistakes that locks have been made with, and nothing where there is none.
func TestPlanted(t *testing.T) {
	if !*plantedFlag {
		t.Skip("with -planted only: it builds the engine with bugs, one after the other")
	}
	var table strings.Builder
	for _, p := range phases {
		b := planted.None
		if p.bug != b.Name {
			b = planted.Named(t, p.bug)
		}
		t.Run(b.Name, func(t *testing.T) {
			binary := b.Build(t, "../../..")
			var caught []string
			seed := 1
			for caught = violated(t, binary, p.phases, seed); len(caught) == 0 && b.Name != planted.None.Name && seed < mostSeeds; {
				seed++
				caught = violated(t, binary, p.phases, seed)
			}
			fmt.Fprintf(&table, "| %s | %s | %d |\n", b.Name, strings.Join(caught, ", "), seed)
			if (len(caught) > 0) != (b.Name != planted.None.Name) {
				t.Errorf("caught by %q", caught)
			}
		})
	}
	t.Log("\n" + table.String())
	t.Run("what a soak is there for", findLeaks)
}

// mostSeeds is how many runs may pass until a bug is caught: some show only when two events are a few milliseconds apart.
const mostSeeds = 8

var told = regexp.MustCompile(`chaos_test\.go:\d+: ([a-z]+): .*`)

// violated runs the harness on the engine with a bug, and says what was violated.
func violated(t *testing.T, binary, phases string, seed int) (oracles []string) {
	t.Helper()
	// It fails, as it should: what counts is what it says.
	text, _ := exec.Command(binary, "-test.run", "^TestChaos$", "-phases", phases, "-for", "20s", "-seed", strconv.Itoa(seed)).CombinedOutput()
	if !strings.Contains(string(text), "FAIL") && !strings.Contains(string(text), "PASS") {
		t.Fatalf("no result:\n%s", text)
	}
	for _, v := range told.FindAllStringSubmatch(string(text), -1) {
		t.Logf("seed %d: %s", seed, v[0])
		if v[1] != "void" {
			oracles = append(oracles, v[1])
		}
	}
	slices.Sort(oracles)
	return slices.Compact(oracles)
}
