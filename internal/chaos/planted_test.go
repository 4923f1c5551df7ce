package chaos

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/planted"
)

var plantedFlag = flag.Bool("planted", false, "build the harness with bugs in the engine, and see each caught")

// phases are those in which a planted bug shows.
var phases = []struct {
	bug    string
	phases string
}{
	{planted.None.Name, "cuts|partitions|data loss|sparse|hot locks|refused|deadlines|foreign"},
	{"an acquire that counts, sent twice", "answers lost"},
	{"no second question once the subscription is confirmed", "sparse"},
	{"a deadline that counts from the answer", "weather"},
	{"a release that does not look who the owner is", "partitions"},
	{"a token that INCR gives", "data loss"},
	{"a renewal after the unlock", "sparse"},
	{"a cancelled call that is forgotten", "sparse"},
	{"a change that has its effect twice", "answers lost"},
	{"a reader let in beside the writer", "weather"},
	{"a confirmation in vain that is repeated at once", "hot locks"},
	{"an acquire that ignores that its TTL was refused", "refused"},
	{"a loss that the loop is not told of", "deadlines"},
	{"bytes of a server that are not looked at", "foreign"},
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
			r := runPlanted(t, b, p.phases)
			var caught []string
			for _, p := range r.Phases {
				for _, v := range p.Violations {
					t.Logf("%s, seed %d: %s: %s", p.Name, p.Seed, v.Oracle, v.Text)
					caught = append(caught, v.Oracle)
				}
			}
			slices.Sort(caught)
			caught = slices.Compact(caught)
			fmt.Fprintf(&table, "%-55s %s\n", b.Name, strings.Join(caught, ", "))
			caught = slices.DeleteFunc(caught, func(oracle string) bool { return oracle == "void" })
			if (len(caught) > 0) != (b.Name != planted.None.Name) {
				t.Errorf("caught by %q", caught)
			}
		})
	}
	t.Log("\n" + table.String())
}

// runPlanted runs the harness on the engine with a bug.
func runPlanted(t *testing.T, b planted.Bug, phases string) result {
	t.Helper()
	binary, out := b.Build(t, "../.."), filepath.Join(t.TempDir(), "result.json")
	// It fails, as it should: what counts is what it writes.
	text, _ := exec.Command(binary, "-test.run", "^TestChaos$", "-phases", phases, "-for", "20s", "-seed", "1", "-json", out).CombinedOutput()
	found, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("no result: %v\n%s", err, text)
	}
	var r result
	if err := json.Unmarshal(found, &r); err != nil {
		t.Fatal(err)
	}
	return r
}
