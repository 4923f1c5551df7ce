package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plan is what is needed to try some mutants: how to switch one on, and what may find it.
type plan struct {
	name    string // as the option -only has it
	least   int    // percent that must be killed
	all     []*Mutant
	killers []*Killer
	groups  []*quickTests
	// ready prepares a folder for a mutant; nil: for none. It answers the environment that switches the mutant on.
	ready func(dir string, m *Mutant) ([]string, error)
}

// quickTests are unit tests that run in one process, for each takes less time than to start one.
type quickTests struct {
	binary, dir string
	short       bool
	tests       []*Killer
}

// short has tests play fewer worlds.
const short = "-test.short"

const quickTest = 250 * time.Millisecond

// group takes the quick unit tests out of the killers.
func (p *plan) group() {
	byBinary := make(map[string]*quickTests)
	p.killers = slices.DeleteFunc(p.killers, func(k *Killer) bool {
		if k.Explorer || k.took >= quickTest {
			return false
		}
		if byBinary[k.binary] == nil {
			byBinary[k.binary] = &quickTests{binary: k.binary, dir: k.dir, short: slices.Contains(k.args, short)}
			p.groups = append(p.groups, byBinary[k.binary])
		}
		byBinary[k.binary].tests = append(byBinary[k.binary].tests, k)
		return true
	})
	slices.SortFunc(p.killers, func(a, b *Killer) int { return int(a.took - b.took) })
}

// killersOf are those that reach a mutant, the quickest first; among the quick tests first those that have found others of its file.
func (p *plan) killersOf(m *Mutant, found []string) []*Killer {
	var some []*Killer
	for _, g := range p.groups {
		some = append(some, g.killer(m, func(name string) bool { return slices.Contains(found, name) })...)
		some = append(some, g.killer(m, func(name string) bool { return !slices.Contains(found, name) })...)
	}
	for _, k := range p.killers {
		if k.reaches(m) {
			some = append(some, k)
		}
	}
	slices.SortStableFunc(some, func(a, b *Killer) int { return rank(found, a.Name) - rank(found, b.Name) })
	return some
}

// rank is the place of a killer among those that have found others, latest first; the rest are behind all of them.
func rank(found []string, name string) int {
	if at := slices.Index(found, name); at >= 0 {
		return at
	}
	return len(found)
}

// killer runs some of the quick tests, if any of them reaches the mutant.
func (g *quickTests) killer(m *Mutant, chosen func(name string) bool) []*Killer {
	var names []string
	took := time.Duration(0)
	for _, k := range g.tests {
		if chosen(k.Name) && k.reaches(m) {
			names = append(names, k.Name)
			took += k.took
		}
	}
	if names == nil {
		return nil
	}
	return []*Killer{{
		Name: names[0], binary: g.binary, dir: g.dir, took: took,
		args: []string{"-test.failfast", "-test.short=" + strconv.FormatBool(g.short), "-test.run=^(" + strings.Join(names, "|") + ")$"},
	}}
}

// unitKillers are the tests of a binary, one by one.
func unitKillers(binary, dir string, args ...string) ([]*Killer, error) {
	names, err := testsIn(binary, dir)
	if err != nil {
		return nil, err
	}
	var all []*Killer
	for _, name := range names {
		all = append(all, &Killer{Name: name, binary: binary, dir: dir, args: append([]string{"-test.failfast", "-test.run=^" + name + "$"}, args...)})
	}
	return all, nil
}

// measure runs every killer without a mutant, and drops those that take too long, and those that fail: what they say would mean nothing.
// Those that do not tell what they reach are measured once: the file of results has a second one beside it with their times.
func (p *plan) measure(o *options, say func(string, ...any), reach func(k *Killer, file string) error, dir string) error {
	env, err := p.ready(dir, nil)
	if err != nil {
		return err
	}
	times := make(map[string]time.Duration)
	if text, err := os.ReadFile(o.results + ".times"); err == nil && reach == nil {
		if err := json.Unmarshal(text, &times); err != nil {
			return err
		}
	}
	began := time.Now()
	var kept []*Killer
	for i, k := range p.killers {
		if times[k.Name] == 0 {
			say("%d of %d test runs without a mutant, %v", i, len(p.killers), time.Since(began).Round(time.Second))
			if times[k.Name], err = p.time(k, o.most, reach, dir, env); err != nil {
				return err
			}
		}
		if k.took = times[k.Name]; k.took <= o.most {
			kept = append(kept, k)
		}
	}
	p.killers = kept
	if reach != nil {
		return nil
	}
	text, err := json.MarshalIndent(times, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(o.results+".times", text, 0o644)
}

// never is how long a run takes that fails without a mutant.
const never = time.Hour

// time measures one.
func (p *plan) time(k *Killer, most time.Duration, reach func(k *Killer, file string) error, dir string, env []string) (time.Duration, error) {
	file := filepath.Join(dir, "reached")
	os.Remove(file)
	k.took, k.bound = most, 5*most
	o := k.run(dir, nil, append(env, "WHEELLOCK_REACHED="+file)...)
	k.bound = 0
	if o.failed {
		fmt.Fprintf(os.Stderr, "%s is left out, for without a mutant: %s\n", k.Name, o.why)
		return never, nil
	}
	if reach != nil {
		return o.took, reach(k, file)
	}
	return o.took, nil
}
