package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	_ "embed"
)

//go:embed embed.go.txt
var embedText string

// planLua builds the tests of the scripts and the explorer, which take one script from a file that the environment names.
func planLua(o *options, work string, say func(string, ...any)) (*plan, error) {
	all, err := luaMutants(o.root)
	if err != nil {
		return nil, err
	}
	if o.group != "" {
		all = slices.DeleteFunc(all, func(m *Mutant) bool { return !slices.Contains(strings.Split(o.group, ","), m.Group) })
	}
	p := &plan{name: "lua", least: 95, all: all, first: []string{"TestExactAnswers", "TestManyNamesFareAsEachAlone"}}
	folder := filepath.Join(o.root, "scripts")
	p.ready = func(dir string, m *Mutant) ([]string, error) { return readyLua(folder, dir, m) }
	if o.list {
		return p, nil
	}
	say("building the tests")
	scripts, err := readScripts(folder)
	if err != nil {
		return nil, err
	}
	laid := newOverlay(work)
	if err := laid.lay(filepath.Join(folder, "zz_mutant.go"), scripts.embedding()); err != nil {
		return nil, err
	}
	binary := filepath.Join(work, "scripts.test")
	if err := laid.build(folder, binary); err != nil {
		return nil, err
	}
	units, err := unitKillers(binary, "")
	if err != nil {
		return nil, err
	}
	for _, k := range units {
		k.reaches = func(m *Mutant) bool { return slices.Contains(scripts.tests[k.Name], m.Group) }
	}
	engines, err := engineKillers(laid, o.root, work)
	if err != nil {
		return nil, err
	}
	binary = filepath.Join(work, "explore.test")
	if err := laid.build(filepath.Join(o.root, "internal/trial/explore"), binary); err != nil {
		return nil, err
	}
	walks, err := explorerKillers(o.root, binary, o)
	if err != nil {
		return nil, err
	}
	for _, k := range walks {
		k.reaches = func(m *Mutant) bool { return runsIn(k.Name, m.Group) }
	}
	p.killers = slices.DeleteFunc(slices.Concat(units, engines, walks), func(k *Killer) bool { return !slices.ContainsFunc(p.all, k.reaches) })
	if err := p.measure(o, say, nil, work); err != nil {
		return nil, err
	}
	p.group()
	return p, nil
}

// engineTests are the tests of the engine that are about the kind of lock of some scripts.
var engineTests = []struct {
	scripts string
	tests   *regexp.Regexp
}{
	{"fair fair_ask fair_release", regexp.MustCompile(`^TestFair`)},
	{"acquire_rw release_rw renew pass", regexp.MustCompile(`^TestRW`)},
	{"simple_line acquire_simple release_simple simple inspect", regexp.MustCompile(`^TestSimple`)},
	{"called counting permits change count", regexp.MustCompile(`^Test(Held)?Permit`)},
	{"called counting take change count", regexp.MustCompile(`^TestSemaphore`)},
	{"counting change count", regexp.MustCompile(`^TestLatch`)},
}

// engineKillers are those tests, which run the scripts on a real server.
func engineKillers(laid *overlay, root, work string) ([]*Killer, error) {
	dir, binary := filepath.Join(root, "engine"), filepath.Join(work, "engine.test")
	if err := laid.build(dir, binary); err != nil {
		return nil, err
	}
	all, err := unitKillers(binary, dir)
	if err != nil {
		return nil, err
	}
	var some []*Killer
	for _, k := range all {
		for _, of := range engineTests {
			if of.tests.MatchString(k.Name) {
				k.reaches = func(m *Mutant) bool {
					return slices.Contains(strings.Fields(of.scripts), strings.TrimSuffix(m.Group, ".lua"))
				}
				some = append(some, k)
				break
			}
		}
	}
	return some, nil
}

// readyLua puts all scripts into a folder, one of them changed.
func readyLua(from, dir string, m *Mutant) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(from, "*.lua"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(file)
		if m != nil && m.Group == name {
			text = []byte(apply(string(text), m.edits))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	if m == nil {
		return nil, nil
	}
	return []string{"WHEELLOCK_SCRIPT=" + filepath.Join(dir, m.Group)}, nil
}

// embedding is the file that is laid beside the scripts.
func (s *luaScripts) embedding() string {
	var texts, made []string
	for file, variable := range s.embedded {
		texts = append(texts, fmt.Sprintf("%q: &%s", file, variable))
	}
	for variable, by := range s.makes {
		made = append(made, variable+" = "+by)
	}
	return fmt.Sprintf(embedText, strings.Join(texts, ", "), strings.Join(made, "\n\t"))
}

// worldScripts are the scripts that each kind of lock runs in the explorer's worlds. Nobody there asks for the others.
var worldScripts = map[string]string{
	"mutex":      "prelude line acquire release renew pass tokens",
	"line":       "prelude tokens line acquire release renew pass",
	"spin":       "prelude acquire release renew pass tokens",
	"fenced":     "prelude tokens acquire line release renew pass",
	"fair":       "prelude claim fair fair_ask fair_release renew",
	"read-write": "prelude line acquire_rw release_rw renew pass",
	"permits":    "prelude line called counting permits change",
	"semaphore":  "prelude line called counting take change",
	"latch":      "prelude counting count change",
}

// runsIn reports whether a script runs in the world of a run of the explorer, which ends with the name of its kind, or has it inside.
func runsIn(world, file string) bool {
	for kind, scripts := range worldScripts {
		if strings.Contains(world, kind) && slices.Contains(strings.Fields(scripts), strings.TrimSuffix(file, ".lua")) {
			return true
		}
	}
	return false
}
