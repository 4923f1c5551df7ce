package main

import (
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
	first   []string // the tests that find most
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
