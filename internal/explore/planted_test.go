package explore

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var plantedFlag = flag.Bool("planted", false, "build the explorer with bugs in gates and scripts, and see each found")

// edit changes one place of a file of the core, which must be there exactly once.
type edit struct{ file, old, new string }

// bug is a mistake that was once in the code, or that locks have been made with. Files are edited in copies, which the build
// takes in their place.
type bug struct {
	name  string
	edits []edit
}

var bugs = []bug{
	{"an acquire that ignores that its TTL was refused", []edit{
		{"scripts/acquire.lua", "	return prolong(lock, lease) or 1\n", "	prolong(lock, lease)\n	return 1\n"},
	}},
	{"a swap that ignores it", []edit{
		{"scripts/swap.lua", "		return prolong(lock, lease) or listeners(ARGV[1], ARGV[4 * i + 1])\n	end\n	local made", "		prolong(lock, lease)\n		return listeners(ARGV[1], ARGV[4 * i + 1])\n	end\n	local made"},
	}},
	{"an acquire that counts, sent twice", []edit{
		{"scripts/acquire.lua", "	return prolong(lock, lease) or 1\n", "	redis.call('HINCRBY', lock, owner, 1)\n	return 1\n"},
		{"scripts/release.lua", "local freed = call('HDEL', KEYS[i], ARGV[2 * i])", "local freed = call('HEXISTS', KEYS[i], ARGV[2 * i])\n" +
			"	if freed == 1 and redis.call('HINCRBY', KEYS[i], ARGV[2 * i], -1) == 0 then freed = call('HDEL', KEYS[i], ARGV[2 * i]) end"},
	}},
	{"no second question once the subscription is confirmed", []edit{
		{"internal/gate/crowd.go", "	m.again = m.t.phase != ours && m.queue.head != nil\n	m.pump(now, fx)\n}\n\n// Message", "	m.pump(now, fx)\n}\n\n// Message"},
	}},
	{"a deadline that counts from the answer", []edit{
		{"internal/gate/tenure.go", "c.Sent+c.Lease-margin(c.Lease))", "now+c.Lease-margin(c.Lease))"},
	}},
	{"a release that does not look who the owner is", []edit{
		{"scripts/release.lua", "call('HDEL', KEYS[i], ARGV[2 * i])", "call('DEL', KEYS[i])"},
	}},
	{"a permit_take that ignores that a lease was refused", []edit{
		{"scripts/permit_take.lua", "			if refused then return refused end\n", ""},
	}},
	{"a token that INCR gives", []edit{
		{"scripts/acquire_fenced.lua", "math.max((tonumber(last or 0) or 0) + block, micros)", "(tonumber(last or 0) or 0) + block"},
	}},
	{"a cancelled call that is forgotten", []edit{
		{"internal/gate/mutex.go", "		m.queue.remove(w)\n		m.cfg.Answer(w, out) // last", "		m.cfg.Answer(w, out) // last"},
		{"internal/gate/handoff.go", "	if !m.cfg.Answer(w, Outcome{}) {\n		h.end()\n		return false\n	}\n", "	m.cfg.Answer(w, Outcome{})\n"},
	}},
	{"a change that has its effect twice", []edit{
		{"scripts/receipt.lua", "	if last == number then return tonumber(answer) end\n", "	if last == number then return nil end\n"},
	}},
	{"a reader let in beside the writer", []edit{
		{"scripts/acquire_read.lua", "	if found[1] == 'write' then return taken(ttl) end\n", ""},
	}},
	{"a confirmation in vain that is repeated at once", []edit{
		{"internal/gate/handoff.go", "w == nil || m.t.Doubt || m.t.handed", "w == nil || m.t.handed"},
	}},
	{"a number in a fair queue that is used again after its release", []edit{
		{"internal/gate/ending.go", "	m.takenInVain(now, m.t.ID)\n", ""},
		{"internal/gate/fair.go", "	if m.queue.head.place == 0 {", "	if m.queue.head.place == m.t.ID || m.queue.head.place == 0 {"},
	}},
	{"a later waiter that stands before the first", []edit{
		{"scripts/fair_ask.lua", "	if first and first ~= me and place ~= 'TRY' and engineOf(first) == engine and goBack(l, me) then first = me end\n", ""},
		{"internal/gate/ending.go", "		m.takenInVain(now, id)\n", ""},
	}},
	{"a place that comes back and is not given up", []edit{
		{"internal/gate/fair.go", "		m.queue.line.returning = m.t.ID\n", ""},
	}},
	{"a hold that lasts as long as its tenure", []edit{
		{"internal/gate/hold.go", "h.deadline.Store(int64(min(h.until, t.Deadline)))", "h.deadline.Store(int64(h.until))"},
	}},
	{"an uncertain acquire that is not released when nothing can arrive any more", []edit{
		{"internal/gate/tenure.go", "const LateWindow = 2 * time.Second", "const LateWindow = 2 * time.Hour"},
	}},
}

// Every planted bug is an edit of the code of today.
func TestPlantedBugsFit(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) { b.overlay(t, t.TempDir()) })
	}
}

var (
	violated = regexp.MustCompile(`explore_test.go:\d+: (?:world (.+), seed \d+: )?([a-z-]+): `)
	searched = regexp.MustCompile(`explore_test.go:\d+: (\d+) states, (\d+) steps`)
	walked   = regexp.MustCompile(`(\d+) walks from seed 1, (\d+) moves`)
)

// The explorer finds mistakes without a test that was written for them. The table says by which world, and after how many
// states or walks.
func TestPlanted(t *testing.T) {
	if !*plantedFlag {
		t.Skip("with -planted only: it builds the explorer with bugs, one after the other")
	}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			dir := t.TempDir()
			binary := filepath.Join(dir, "planted.test")
			build := exec.Command("go", "test", "-c", "-overlay", b.overlay(t, dir), "-o", binary, ".")
			if text, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, text)
			}
			walks, _ := exec.Command(binary, "-test.v", "-test.run", "^TestWalk$").CombinedOutput()
			if found := violated.FindSubmatch(walks); found != nil {
				t.Logf("FOUND %s | walk of %s | %s | %s walks", b.name, found[1], found[2], walked.FindSubmatch(walks)[1])
				return
			}
			search, _ := exec.Command(binary, "-test.v", "-test.run", "^TestSearch$", "-full").CombinedOutput()
			found := violated.FindSubmatch(search)
			if found == nil {
				t.Fatalf("NOT FOUND %s", b.name)
			}
			before := searched.FindAllSubmatch(search[:strings.Index(string(search), string(found[0]))], -1)
			t.Logf("FOUND %s | search | %s | %s states", b.name, found[2], before[len(before)-1][1])
		})
	}
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
