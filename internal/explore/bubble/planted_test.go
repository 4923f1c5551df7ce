package bubble

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
	"time"
)

var (
	planted = flag.Bool("planted", false, "build engines with bugs that there have been, and see each found")
	hours   = flag.Duration("planted-for", 20*time.Hour, "virtual time for each")
)

// edit changes one place of a file of the core, which must be there exactly once.
type edit struct{ file, old, new string }

// bug is one that there has been, by its number in the review that found it. Product code has no switch for it: the files are
// edited in copies, which the build takes in their place.
type bug struct {
	name  string
	edits []edit
}

var bugs = []bug{
	{"R2: parts of a lost Multi that nobody gives back", []edit{
		{"engine/hold.go", "		giveBack(c.all())\n		return\n", "		return\n"},
		{"engine/composite.go", "		if part.Err() == nil {\n			n++", "		if part.ended.Load() == 0 && !part.over(true) {\n			n++"},
	}},
	{"R3: a loss that is not final", []edit{
		{"engine/hold.go", "			return nil\n		}\n		h.lose()\n	}\n	return h.cause()", "			return nil\n		}\n		return ErrLost\n	}\n	return h.cause()"},
		{"engine/hold.go", "		h.lose()\n	}\n	stall.At", "		h.finish(gate.Lost)\n	}\n	stall.At"},
	}},
	{"R5: a suspension that is noticed a second later", []edit{
		{"engine/hold.go", "		now = h.e.clock.Checked\n", "		now = h.e.clock.Now\n"},
	}},
	{"R6: the server's clock as the middle of a round trip", []edit{
		{"dispatcher/lane.go", "l.serverMillis, l.serverAt = millis, l.d.cfg.Clock.Now()", "l.serverMillis, l.serverAt = millis, (l.batch[0].Sent+l.d.cfg.Clock.Now())/2"},
		{"dispatcher/scripts.go", "	results := client.DoMulti(ctx, commands...)\n	loaded.at = clock.Now()\n", "	began := clock.Now()\n	results := client.DoMulti(ctx, commands...)\n	loaded.at = (began + clock.Now()) / 2\n"},
	}},
	{"R8: permits that are given back twice", []edit{
		{"scripts/permit_free.lua", "			if not seen[one] then all[#all + 1] = one end\n", "			all[#all + 1] = one\n"},
		{"scripts/permit_free.lua", "call('INCRBY', key, gone)", "call('INCRBY', key, #there)"},
	}},
	{"R11: a hold that is lost, and the loop is not told", []edit{
		{"engine/hold.go", "	h.e.dispatcher.Unlock(&h.core, nil)\n", ""},
	}},
	{"R12: a TryLock whose lease is over when its answer comes, asked again", []edit{
		{"internal/gate/replicas.go", "	pause := m.tries.next(m.t.ID)\n	m.tell(out)\n", "	pause := now - now\n"},
		{"engine/lockoption.go", "		wait = e.answerTime(ctx)\n", "		wait = 0\n"},
	}},
	{"R13: an acquire that is granted again, and prolongs nothing", []edit{
		{"scripts/acquire.lua", "	return prolong(lock, lease) or 1\n", "	prolong(lock, lease)\n	return 1\n"},
	}},
	{"F1: a confirmation in vain that is repeated at once", []edit{
		{"internal/gate/handoff.go", "w == nil || m.t.Doubt || m.t.handed", "w == nil || m.t.handed"},
		{"dispatcher/pipeline.go", "pass < maxPasses && !n.out.empty()", "!n.out.empty()"},
		{"dispatcher/pipeline.go", "for end := len(o.commands[op]); o.heads[op] < end; {", "for o.heads[op] < len(o.commands[op]) {"},
	}},
	{"a deadline that counts from the answer", []edit{
		{"internal/gate/tenure.go", "c.Sent+c.Lease-margin(c.Lease))", "now+c.Lease-margin(c.Lease))"},
	}},
	{"a change that has its effect twice", []edit{
		{"scripts/receipt.lua", "	if last == number then return tonumber(answer) end\n", "	if last == number then return nil end\n"},
	}},
	{"a reader let in beside the writer", []edit{
		{"scripts/acquire_read.lua", "	if found[1] == 'write' then return taken(ttl) end\n", ""},
	}},
	{"a cancelled call that is forgotten", []edit{
		{"internal/gate/mutex.go", "		m.queue.remove(w)\n		m.cfg.Answer(w, out) // last", "		m.cfg.Answer(w, out) // last"},
		{"internal/gate/handoff.go", "	if !m.cfg.Answer(w, Outcome{}) {\n		h.end()\n		return false\n	}\n", "	m.cfg.Answer(w, Outcome{})\n"},
	}},
}

// Every planted bug is an edit of the code of today.
func TestPlantedBugsFit(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) { b.overlay(t, t.TempDir()) })
	}
}

// The worlds find the bugs that there have been. There is no test for any of them here.
func TestPlanted(t *testing.T) {
	if !*planted {
		t.Skip("with -planted only: it builds engines with bugs, one after the other")
	}
	var table strings.Builder
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			found := b.run(t)
			fmt.Fprintf(&table, "%-75s %s\n", b.name, found)
			if found == "" {
				t.Error("not found")
			}
		})
	}
	t.Log("\n" + table.String())
}

var (
	failed = regexp.MustCompile(`(?m)seed (\d+)[, ]`)
	oracle = regexp.MustCompile(`VIOLATION \S+ (\w+)|: (spin): |^(panic): `)
)

// run runs worlds on the engine with the bug, and says what was found where.
func (b bug) run(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "planted.test")
	build := exec.Command("go", "test", "-c", "-tags", "wheellock_stall", "-overlay", b.overlay(t, dir), "-o", binary, ".")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	began := time.Now()
	text, err := exec.Command(binary, "-test.run", "^TestBubble$", "-test.timeout", "20m", "-for", hours.String()).CombinedOutput()
	if err == nil {
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

// overlay writes the edited files and the list that tells the build of them.
func (b bug) overlay(t *testing.T, dir string) string {
	t.Helper()
	replace := make(map[string]string)
	for _, e := range b.edits {
		path, err := filepath.Abs(filepath.Join("../../..", e.file))
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
