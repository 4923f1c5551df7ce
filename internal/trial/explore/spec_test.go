package explore

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
)

var (
	specFlag    = flag.Bool("spec", false, "run the specification, its mutants, and the paths of the code through it (make spec)")
	samplesFlag = flag.Int("samples", 400, "how many random paths the specification is followed along")
	tracesFlag  = flag.Int("traces", 100, "how many random paths of the code it must take")
)

// quint runs the specification, a copy of which it keeps.
type quint struct {
	t    *testing.T
	dir  string
	tool string
}

const specDir = "../../../spec"

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

// simulated is how random paths through the small instance begin, and what happens on them.
type simulated []string

var (
	anything = simulated{"--init=init", "--step=step", "--max-steps=50"}
	inLine   = simulated{"--init=waiting", "--step=lines", "--max-steps=60"}
)

// simulate follows random paths through the small instance until an invariant breaks. False: one does.
func (q *quint) simulate(way simulated, paths int, invariants ...string) (said string, ok bool) {
	args := append([]string{"run", "small.qnt", "--backend=typescript", "--verbosity=1",
		"--max-samples=" + strconv.Itoa(paths), "--seed=" + strconv.FormatUint(*seedFlag, 10)}, way...)
	return q.run(append(append(args, "--invariants"), invariants...)...)
}

// The invariants, as docs/RELIABILITY.md names them.
var specified = []string{
	"exclusion", "holdsHaveKeys", "deadlineBeforeExpiry", "lossIsFinal", "toldBeforeRelease", "noLowerTtl", "nothingIsLeft",
	"noPlaceOfNobody", "onePlaceEach", "firstIsTold",
}

// What the specification says is true along random paths. Its types are checked on the way.
func TestSpec(t *testing.T) {
	q := newQuint(t)
	began := time.Now()
	for _, way := range []simulated{anything, inLine} {
		if said, ok := q.simulate(way, *samplesFlag, specified...); !ok {
			t.Fatalf("%s", said)
		}
	}
	t.Logf("twice %d random paths, %v", *samplesFlag, time.Since(began).Round(time.Second))
}

// It could be untrue: each invariant breaks when what guards it is taken away.
func TestSpecSaysSomething(t *testing.T) {
	for _, m := range []struct {
		name, invariant string
		on              simulated
		old, new        string
	}{
		{"an acquire that does not look at the owner", "exclusion", anything,
			"else if (k.owner == c.id) { ...prolonged, line: out }", "else if (c.id != NOBODY) { ...r, key: { owner: c.id, ends: end }, answer: Yes }"},
		{"a release that does not look at the owner", "holdsHaveKeys", anything,
			"if (k.owner == c.id) t.giveOrFree(left) else left", "if (k != NOKEY) t.giveOrFree(left) else left"},
		{"a deadline that counts from the answer", "deadlineBeforeExpiry", anything,
			"max(t.deadline, c.sent + c.lease", "max(t.deadline, en.clock + c.lease"},
		{"an acquire that answers yes although its TTL was refused", "deadlineBeforeExpiry", anything,
			"and held) No else Refused", "and held) No else if (k.owner == c.id) Yes else Refused"},
		{"a hold that was found over, and is renewed", "lossIsFinal", anything,
			"action end(caller: int): bool = become(s.ended(s.holds.filter(h => h.caller == caller)))",
			"action end(caller: int): bool = become({ ...s, over: s.over.union(Set(caller)), holds: s.holds.filter(h => h.caller != caller or h.deadline <= s.now) })"},
		{"a release while somebody holds the lock", "toldBeforeRelease", anything,
			"(s.heldBy(t.id) == Set() or en.clock >= t.deadline),\n      become(s.ended(s.heldBy(t.id)).having", "true,\n      become(s.having"},
		{"a renewal that makes a lease shorter", "noLowerTtl", anything,
			"ends: max(k.ends, end)", "ends: end"},
		{"an acquire that takes the lock at any time", "nothingIsLeft", anything,
			"if (late(c, t.now)) { ...r, answer: Late }\n        else ", ""},
		{"an uncertain acquire that is forgotten", "nothingIsLeft", anything,
			"if (t.unsure > sent) rest.orphaned(t.id, t.unsure) else rest", "rest"},
		{"a code that counts although an acquire got no answer", "holdsHaveKeys", inLine,
			"if (c.wish == Outside) en else { ...en, place: { ...m, doubted", "if (c.id != NOBODY) en else { ...en, place: { ...m, doubted"},
		{"a code that is used for a second owner id", "holdsHaveKeys", inLine,
			"pure def codeOf(id: Id): Id = id", "pure def codeOf(id: Id): Id = { ...id, n: 1 }"},
		{"a release that publishes a code, and leaves the place", "holdsHaveKeys", inLine,
			"places: l.places.tail(), since: if", "places: l.places, since: if"},
		{"a lock that was given, and counts from the message", "deadlineBeforeExpiry", inLine,
			"sent: en.place.sent, lease: en", "sent: en.clock, lease: en"},
		{"a place that is given for less than what was answered", "deadlineBeforeExpiry", inLine,
			"{ ...p, lease: max(p.lease, place.lease) }", "p"},
		{"a place that counts the lease of the owner id before", "deadlineBeforeExpiry", inLine,
			"if (m.id == c.id) m.lease else 0", "m.lease"},
		{"a second place of an engine when its first waiter believes no message", "onePlaceEach", anything,
			"      inLine and id == en.place.asked implies wish == en.place.wish,\n", ""},
		{"a turn of others of which the first is not told", "firstIsTold", anything,
			"freed.tell({ ...l, since: -1 })", "{ ...freed, line: { ...l, since: -1 } }"},
		{"a place that is given up, and the next one is not told", "firstIsTold", anything,
			"r.tell(t.living(rest)) else", "{ ...r, line: t.living(rest) } else"},
		{"a place that is given up, and stands", "noPlaceOfNobody", anything,
			"en.orphaned(en.place.id, en.clock).unplaced", "en.unplaced"},
	} {
		t.Run(m.name, func(t *testing.T) {
			q := newQuint(t)
			text := read(t, filepath.Join(specDir, "lock.qnt"))
			if n := strings.Count(text, m.old); n != 1 {
				t.Fatalf("lock.qnt has %d places like %q, want 1", n, m.old)
			}
			q.write("lock.qnt", strings.Replace(text, m.old, m.new, 1))
			began := time.Now()
			said, ok := q.simulate(m.on, 10_000, m.invariant)
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
	for n, r := range q.replay(paths) {
		t.Fatalf("seed %d: %s", *seedFlag+uint64(n), r.tell(paths[n]))
	}
	t.Logf("%d paths, %d events, %v", *tracesFlag, events, time.Since(began).Round(time.Second))
}

// Paths of the code show orphans. This needs no Quint: abstract.go reads them by the names of the gate's fields, which may change.
func TestPathsShowOrphans(t *testing.T) {
	for seed := range uint64(20) {
		path := follow(tracedWorlds[seed%uint64(len(tracedWorlds))], redismodel.NewInterpreter(), seed, 50)
		for _, e := range path {
			const orphans = `"orphans":{"#set":[`
			if text := e.text(); strings.Count(text, orphans) > strings.Count(text, orphans+"]") {
				return
			}
		}
	}
	t.Error("no path has an orphan")
}

// Paths of the code show the line: this needs no Quint either.
func TestPathsShowTheLine(t *testing.T) {
	unseen := []string{
		`{"tag":"Take"`, `{"tag":"Spend"`, `"answer":{"tag":"Joined"`, `"answer":{"tag":"Stood"`, `"proves":true`, `"proves":false`,
		`"wish":{"tag":"Given"`, `"wish":{"tag":"Woken"`, `"places":[],"since":1`, `"lease":2000000000}`, `"lease":3000000000}`,
	}
	for seed := uint64(0); seed < 200 && len(unseen) > 0; seed++ {
		for _, e := range follow(tracedWorlds[2], redismodel.NewInterpreter(), seed, *stepsFlag) {
			text := e.text()
			unseen = slices.DeleteFunc(unseen, func(word string) bool { return strings.Contains(text, word) })
		}
	}
	if len(unseen) > 0 {
		t.Errorf("no path has %s", unseen)
	}
}

// aTake is a path on which an engine takes the lock that a release gave to its place.
func aTake() []event {
	for seed := uint64(0); ; seed++ {
		path := follow(tracedWorlds[2], redismodel.NewInterpreter(), seed, *stepsFlag)
		if slices.ContainsFunc(path, func(e event) bool { return e.Event.(variant).Tag == "Take" }) {
			return path
		}
	}
}

// A path that is no path of the code is refused, at the event that is wrong.
func TestSpecRefusesAWrongPath(t *testing.T) {
	q := newQuint(t)
	mutex, line := follow(tracedWorlds[0], redismodel.NewInterpreter(), 1, *stepsFlag), aTake()
	var paths [][]event
	var wrong []int
	for _, lie := range []struct {
		right        []event
		in, old, new string
	}{
		{mutex, "Hear", `"Yes"`, `"No"`},
		{mutex, "Send", `"notAfter":2`, `"notAfter":9`},
		{mutex, "Execute", `"sent":`, `"sent":1`},
		{mutex, "Ask", `"Acquire"`, `"Release"`},
		{mutex, "Grant", `"e":0`, `"e":1`},
		{mutex, "Check", `"now":`, `"now":1`},
		{mutex, "Check", `"ends":2`, `"ends":3`},
		{mutex, "Check", `"phase":{"tag":"Ours"`, `"phase":{"tag":"Dead"`},
		{mutex, "Check", `"deadline":1`, `"deadline":2`},
		{mutex, "Check", `"waits":{"#set":[{"tag":"Acquire"`, `"waits":{"#set":[{"tag":"Renew"`},
		{mutex, "Check", `"holds":{"#set":[]`, `"holds":{"#set":[{"caller":0,"deadline":1,"id":{"engine":0,"n":1}}]`},
		{line, "Hear", `"Joined"`, `"Stood"`},
		{line, "Take", `"Take"`, `"Spend"`},
		{line, "Execute", `"wish":{"tag":"Given"`, `"wish":{"tag":"Outside"`},
		{line, "Check", `"proves":true`, `"proves":false`},
		{line, "Check", `"places":[{"code":{"engine":0,`, `"places":[{"code":{"engine":1,`},
		{line, "Check", `"lease":3000000000}`, `"lease":2000000000}`},
		{line, "Check", `"lease":3000000000,"n"`, `"lease":2000000000,"n"`},
		{line, "Check", `"since":0`, `"since":1`},
		{line, "Listen", `"on":true`, `"on":false`},
	} {
		path := slices.Clone(lie.right)
		at := slices.IndexFunc(path, func(e event) bool {
			return e.Event.(variant).Tag == lie.in && strings.Contains(e.text(), lie.old)
		})
		if at < 0 {
			t.Fatalf("no %s with %s is in it", lie.in, lie.old)
		}
		path[at].Event = json.RawMessage(strings.Replace(path[at].text(), lie.old, lie.new, 1))
		paths, wrong = append(paths, path), append(wrong, at)
	}
	refused := q.replay(paths)
	for n, at := range wrong { // what leads to another state is refused by the next look at it
		last := at + slices.IndexFunc(paths[n][at:], func(e event) bool { return strings.HasPrefix(e.text(), `{"tag":"Check"`) })
		if r, is := refused[n]; !is || r.at < at || r.at > last {
			t.Errorf("%s: refused %v at %d, want %d to %d", paths[n][at].text(), is, r.at, at, last)
		}
	}
}

// refusal is an event that the specification does not take, and its state before.
type refusal struct {
	at    int
	state string
}

// replay has the specification take paths. It returns those that it does not take.
func (q *quint) replay(paths [][]event) map[int]refusal {
	q.t.Helper()
	args := []string{filepath.Join(specDir, "replay.js")}
	for i, events := range paths {
		text, err := json.Marshal(map[string]any{"vars": []string{"event"}, "states": events})
		if err != nil {
			q.t.Fatal(err)
		}
		name := fmt.Sprintf("%d.itf.json", i)
		q.write(name, string(text))
		args = append(args, filepath.Join(q.dir, name))
	}
	said, err := exec.Command("node", args...).CombinedOutput()
	refused := make(map[int]refusal)
	for _, found := range isRefused.FindAllStringSubmatch(string(said), -1) {
		path, _ := strconv.Atoi(found[1])
		at, _ := strconv.Atoi(found[2])
		refused[path] = refusal{at, found[3]}
	}
	if (err != nil) != (len(refused) > 0) {
		q.t.Fatalf("replay.js: %v\n%s", err, said)
	}
	return refused
}

var isRefused = regexp.MustCompile(`(?s)(\d+)\.itf\.json refused (\d+)\n(\{.*?\n\})`)

// tell tells of the refusal, and of what was taken before.
func (r refusal) tell(events []event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the specification refuses event %d:\n", r.at)
	for i := max(r.at-30, 0); i <= r.at; i++ {
		fmt.Fprintf(&b, "%5d  %-16s %s\n", i, events[i].Meta.Move, events[i].text())
	}
	fmt.Fprintf(&b, "its state before:\n%s\n", r.state)
	return b.String()
}

func (e event) text() string {
	text, err := json.Marshal(e.Event)
	if err != nil {
		panic(err)
	}
	return string(text)
}
