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
)

var planted = flag.Bool("planted", false, "build the harness with bugs in the engine, and see each caught")

// edit changes one place of a file of the core, which must be there exactly once.
type edit struct{ file, old, new string }

// bug is a mistake that locks have been made with. Product code has no switch for it: the files are edited in
// copies, which the build takes in their place.
type bug struct {
	name   string
	phases string // in which it shows
	edits  []edit
}

var bugs = []bug{
	{"none", "cuts|partitions|data loss|sparse|hot locks|refused|deadlines|foreign", nil},
	{"an acquire that counts, sent twice", "answers lost", []edit{
		{"scripts/acquire.lua", "	return prolong(lock, lease) or 1\n", "	redis.call('HINCRBY', lock, owner, 1)\n	return 1\n"},
		{"scripts/release.lua", "local freed = call('HDEL', KEYS[i], ARGV[2 * i])", "local freed = call('HEXISTS', KEYS[i], ARGV[2 * i])\n" +
			"	if freed == 1 and redis.call('HINCRBY', KEYS[i], ARGV[2 * i], -1) == 0 then freed = call('HDEL', KEYS[i], ARGV[2 * i]) end"},
	}},
	{"no second question once the subscription is confirmed", "sparse", []edit{
		{"internal/gate/crowd.go", "	m.again = m.t.phase != ours && m.queue.head != nil\n", ""},
	}},
	{"a deadline that counts from the answer", "weather", []edit{
		{"internal/gate/tenure.go", "c.Sent+c.Lease-margin(c.Lease))", "now+c.Lease-margin(c.Lease))"},
	}},
	{"a release that does not look who the owner is", "partitions", []edit{
		{"scripts/release.lua", "call('HDEL', KEYS[i], ARGV[2 * i])", "call('DEL', KEYS[i])"},
	}},
	{"a token that INCR gives", "data loss", []edit{
		{"scripts/acquire_fenced.lua", "math.max((tonumber(last or 0) or 0) + block, micros)", "(tonumber(last or 0) or 0) + block"},
	}},
	{"a renewal after the unlock", "sparse", []edit{
		{"scripts/renew.lua", "	if mine == 0 then return -1 end", "	if mine == 0 then call('HSET', lock, ARGV[i], '1') end"},
		{"internal/gate/ending.go", "		m.askAt = now + m.pause(now, m.heardBy(c))\n", "		m.askAt = now + m.pause(now, m.heardBy(c))\n" +
			"		if m.t.ID%16 == 0 {\n			m.send(Command{Op: Renew, ID: m.t.ID, Lease: m.t.Lease}, fx)\n		}\n"},
	}},
	{"a cancelled call that is forgotten", "sparse", []edit{
		{"internal/gate/mutex.go", "		m.queue.remove(w)\n		m.cfg.Answer(w, out) // last", "		m.cfg.Answer(w, out) // last"},
		{"internal/gate/handoff.go", "	if !m.cfg.Answer(w, Outcome{}) {\n		h.end()\n		return false\n	}\n", "	m.cfg.Answer(w, Outcome{})\n"},
	}},
	{"a change that has its effect twice", "answers lost", []edit{
		{"scripts/receipt.lua", "	if last == number then return tonumber(answer) end\n", "	if last == number then return nil end\n"},
	}},
	{"a reader let in beside the writer", "weather", []edit{
		{"scripts/acquire_read.lua", "	if found[1] == 'write' then return taken(ttl) end\n", ""},
	}},
	{"a confirmation in vain that is repeated at once", "hot locks", []edit{
		{"internal/gate/handoff.go", "w == nil || m.t.Doubt || m.t.handed", "w == nil || m.t.handed"},
		{"dispatcher/pipeline.go", "pass < maxPasses && !n.out.empty()", "!n.out.empty()"},
		{"dispatcher/pipeline.go", "for end := len(o.commands[op]); o.heads[op] < end; {", "for o.heads[op] < len(o.commands[op]) {"},
	}},
	{"a refused write of which nobody is told", "refused", []edit{
		{"scripts/acquire.lua", "	return prolong(lock, lease) or 1\n", "	prolong(lock, lease)\n	return 1\n"},
	}},
	{"a loss that the loop is not told of", "deadlines", []edit{
		{"engine/hold.go", "		giveBack(c.all())\n		return\n", "		return\n"},
		{"engine/hold.go", "	h.e.dispatcher.Unlock(&h.core, nil)\n", ""},
	}},
	{"bytes of a server that are not looked at", "foreign", []edit{
		{"dispatcher/guard.go", "		return guard(quieten(conn)), nil\n", "		return quieten(conn), nil\n"},
	}},
}

// Every planted bug is an edit of the code of today.
func TestPlantedBugsFit(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) { b.overlay(t, t.TempDir()) })
	}
}

// The checkers find mistakes that locks have been made with, and nothing where there is none.
func TestPlanted(t *testing.T) {
	if !*planted {
		t.Skip("with -planted only: it builds the engine with bugs, one after the other")
	}
	var table strings.Builder
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			r := b.run(t)
			var caught []string
			for _, p := range r.Phases {
				for _, v := range p.Violations {
					t.Logf("%s, seed %d: %s: %s", p.Name, p.Seed, v.Oracle, v.Text)
					caught = append(caught, v.Oracle)
				}
			}
			slices.Sort(caught)
			caught = slices.Compact(caught)
			fmt.Fprintf(&table, "%-55s %s\n", b.name, strings.Join(caught, ", "))
			caught = slices.DeleteFunc(caught, func(oracle string) bool { return oracle == "void" })
			if (len(caught) > 0) != (b.edits != nil) {
				t.Errorf("caught by %q", caught)
			}
		})
	}
	t.Log("\n" + table.String())
}

// run runs the harness on the engine with the bug.
func (b bug) run(t *testing.T) result {
	t.Helper()
	dir := t.TempDir()
	binary, out := filepath.Join(dir, "planted.test"), filepath.Join(dir, "result.json")
	build := exec.Command("go", "test", "-c", "-overlay", b.overlay(t, dir), "-o", binary, ".")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	// It fails, as it should: what counts is what it writes.
	text, _ := exec.Command(binary, "-test.run", "^TestChaos$", "-phases", b.phases, "-for", "20s", "-seed", "1", "-json", out).CombinedOutput()
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

// overlay writes the edited files and the list that tells the build of them.
func (b bug) overlay(t *testing.T, dir string) string {
	t.Helper()
	replace := make(map[string]string)
	for _, e := range b.edits {
		path, err := filepath.Abs(filepath.Join("../..", e.file))
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if edited := replace[path]; edited != "" {
			from = edited
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			t.Fatalf("%s has %d places like %q, want 1", e.file, n, e.old)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
