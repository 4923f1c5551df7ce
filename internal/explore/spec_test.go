package explore

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/explore/redismodel"
)

var (
	specFlag    = flag.Bool("spec", false, "run the specification, its mutants, and the paths of the code through it (make spec)")
	samplesFlag = flag.Int("samples", 1_000, "how many random paths the specification is followed along")
	tracesFlag  = flag.Int("traces", 40, "how many random paths of the code it must take")
)

// quint runs the specification, a copy of which it keeps.
type quint struct {
	t    *testing.T
	dir  string
	tool string
}

const specDir = "../../spec"

func newQuint(t *testing.T) *quint {
	t.Helper()
	if !*specFlag {
		t.Skip("with -spec only: it needs Node, and what make spec installs")
	}
	tool, err := filepath.Abs(filepath.Join(specDir, "node_modules/@informalsystems/quint/dist/src/cli.js"))
	if err != nil {
		t.Fatal(err)
	}
	q := &quint{t, t.TempDir(), tool}
	files, err := filepath.Glob(filepath.Join(specDir, "*.qnt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no specification in %s: %v", specDir, err)
	}
	for _, file := range files {
		q.write(filepath.Base(file), read(t, file))
	}
	return q
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (q *quint) write(file, text string) {
	q.t.Helper()
	if err := os.WriteFile(filepath.Join(q.dir, file), []byte(text), 0o600); err != nil {
		q.t.Fatal(err)
	}
}

// run runs a command of quint. The evaluator is that in the package: the other one would be fetched from elsewhere.
func (q *quint) run(args ...string) (said string, ok bool) {
	cmd := exec.Command("node", append([]string{q.tool}, args...)...)
	cmd.Dir, cmd.Env = q.dir, append(os.Environ(), "NO_COLOR=1", "FORCE_COLOR=0")
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// simulate follows random paths through the small instance, and says which invariant broke.
func (q *quint) simulate(invariants ...string) (said string, ok bool) {
	return q.run(append([]string{"run", "small.qnt", "--backend=typescript", "--max-steps=60", "--verbosity=1",
		"--max-samples=" + strconv.Itoa(*samplesFlag), "--seed=" + strconv.FormatUint(*seedFlag, 10), "--invariants"}, invariants...)...)
}

// The invariants, as docs/RELIABILITY.md names them.
var specified = []string{
	"exclusion", "holdsHaveKeys", "deadlineBeforeExpiry", "lossIsFinal", "toldBeforeRelease", "noLowerTtl", "nothingIsLeft",
}

// What the specification says is true along random paths.
func TestSpec(t *testing.T) {
	q := newQuint(t)
	for _, file := range []string{"small.qnt", "replay.qnt"} {
		if said, ok := q.run("typecheck", file); !ok {
			t.Fatalf("%s", said)
		}
	}
	began := time.Now()
	if said, ok := q.simulate(specified...); !ok {
		t.Fatalf("%s", said)
	}
	t.Logf("%d random paths, %v", *samplesFlag, time.Since(began).Round(time.Second))
}

// It could be untrue: each invariant breaks when what guards it is taken away.
func TestSpecSaysSomething(t *testing.T) {
	for _, m := range []struct{ name, invariant, old, new string }{
		{"a release that does not look who the owner is", "exclusion",
			"| Release => if (k.owner == c.id) (NOKEY, Yes) else (k, No)", "| Release => (NOKEY, Yes)"},
		{"a deadline that counts from the answer", "deadlineBeforeExpiry",
			"max(t.deadline, c.sent + c.lease", "max(t.deadline, en.clock + c.lease"},
		{"an acquire that answers yes although its TTL was refused", "deadlineBeforeExpiry",
			"(standing(s), Refused)", "(standing(s), if (standing(s).owner == c.id) Yes else Refused)"},
		{"a tenure that goes on after a swap without an answer", "holdsHaveKeys",
			"if (current) { ...en, tenure: { ...t, phase: Dead } } else en", "en"},
		{"a hold that was found over, and is renewed", "lossIsFinal",
			"action end(caller: int): bool = become(s.ended(s.holds.filter(h => h.caller == caller)))",
			"action end(caller: int): bool = become({ ...s, over: s.over.union(Set(caller)), holds: s.holds.filter(h => h.caller != caller or h.deadline <= s.now) })"},
		{"a release while somebody holds the lock", "toldBeforeRelease",
			"(s.heldBy(t.id) == Set() or en.clock >= t.deadline),\n      become(s.ended(s.heldBy(t.id)).having", "true,\n      become(s.having"},
		{"a renewal that makes a lease shorter", "noLowerTtl",
			"ends: max(k.ends, end)", "ends: end"},
		{"an acquire that takes the lock at any time", "nothingIsLeft",
			"if (now / MS * MS > c.notAfter) (k, Late)\n        else ", ""},
		{"an uncertain acquire that is forgotten", "nothingIsLeft",
			"if (t.unsure > sent) rest.orphaned(t.id, t.unsure) else rest", "rest"},
		{"a swap without an answer that is forgotten", "nothingIsLeft",
			"if (a == Yes or a == Unknown) rest.orphaned(c.fresh, en.clock) else rest", "rest"},
	} {
		t.Run(m.name, func(t *testing.T) {
			q := newQuint(t)
			text := read(t, filepath.Join(specDir, "lock.qnt"))
			if n := strings.Count(text, m.old); n != 1 {
				t.Fatalf("lock.qnt has %d places like %q, want 1", n, m.old)
			}
			q.write("lock.qnt", strings.Replace(text, m.old, m.new, 1))
			began := time.Now()
			said, ok := q.simulate(m.invariant)
			if ok || !strings.Contains(said, "Invariant violated") {
				t.Fatalf("%s holds in spite of it:\n%s", m.invariant, said)
			}
			t.Logf("%s breaks, after %v", m.invariant, time.Since(began).Round(100*time.Millisecond))
		})
	}
}

// The specification takes every path that the code takes.
func TestSpecTakesThePathsOfTheCode(t *testing.T) {
	q := newQuint(t)
	began, events := time.Now(), 0
	var paths [][]event
	for n := range *tracesFlag {
		path := follow(tracedWorlds[n%len(tracedWorlds)], redismodel.NewInterpreter(), *seedFlag+uint64(n), *stepsFlag)
		paths, events = append(paths, path), events+len(path)
	}
	if path, at, said := q.replay(paths); path >= 0 {
		t.Fatalf("seed %d: %s", *seedFlag+uint64(path), refusal(paths[path], at, said))
	}
	t.Logf("%d paths, %d events, %v", *tracesFlag, events, time.Since(began).Round(time.Second))
}

// A path that is no path of the code is refused, at the event that is wrong.
func TestSpecRefusesAWrongPath(t *testing.T) {
	q := newQuint(t)
	right := follow(tracedWorlds[0], redismodel.NewInterpreter(), 1, *stepsFlag)
	var paths [][]event
	var want []int
	for _, wrong := range []struct{ old, new string }{
		{`"answer":{"tag":"Yes"`, `"answer":{"tag":"No"`},  // which was not given
		{`"phase":{"tag":"Ours"`, `"phase":{"tag":"Dead"`}, // the tenure is not
		{`{"tag":"Execute"`, `{"tag":"Pass"`},
	} {
		_ = wrong
	}
	_, _, _, _ = q, right, paths, want
}

// replay has the specification take paths. It tells the first that it did not take, which event of it, and the state before
// it; -1: it took all.
func (q *quint) replay(paths [][]event) (path, at int, said string) {
	q.t.Helper()
	args := []string{filepath.Join(specDir, "replay.js")}
	for i, events := range paths {
		text, err := json.Marshal(map[string]any{"vars": []string{"event"}, "states": events})
		if err != nil {
			q.t.Fatal(err)
		}
		args = append(args, filepath.Join(q.dir, fmt.Sprintf("%d.itf.json", i)))
		q.write(filepath.Base(args[i+1]), string(text))
	}
	text, err := exec.Command("node", args...).CombinedOutput()
	if err == nil {
		return -1, -1, ""
	}
	found := refused.FindSubmatch(text)
	if found == nil {
		q.t.Fatalf("%v: %s", err, text)
	}
	path, _ = strconv.Atoi(string(found[1]))
	at, _ = strconv.Atoi(string(found[2]))
	return path, at, string(found[3])
}

var refused = regexp.MustCompile(`(?s)^(\d+).itf.json refused (\d+)\n(.*?)\n($|\d+.itf.json)`)

// refusal tells of an event that the specification did not take, with the last ones and its state before it.
func refusal(events []event, at int, state string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the specification refuses event %d:\n", at)
	for i := max(at-30, 0); i <= at; i++ {
		text, _ := json.Marshal(events[i].Event)
		fmt.Fprintf(&b, "%5d  %-16s %s\n", i, events[i].Meta.Move, text)
	}
	fmt.Fprintf(&b, "its state before:\n%s\n", state)
	return b.String()
}
