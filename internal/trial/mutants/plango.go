package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	_ "embed"
)

// goPackages are those whose mutants are to be killed: by their own tests, and by what is named besides.
var goPackages = []goTested{
	{name: "dispatcher/gate", explored: true},
	{name: "wheel", explored: true},
	{name: "futures", explored: true},
	{name: "scripts"},
	{name: "dispatcher", by: []string{"engine", "engine/faults", "engine/features", "engine/clusters", "engine/elect"}},
	{name: "dispatcher/redisconn", by: []string{"dispatcher", "engine", "engine/faults", "engine/features", "engine/clusters"}},
	{name: "dispatcher/subscriber", by: []string{"dispatcher", "engine", "engine/faults", "engine/features", "engine/clusters"}},
	{name: "dispatcher/topology", by: []string{"dispatcher", "engine", "engine/clusters"}},
	{name: "dispatcher/wire", by: []string{"scripts", "engine"}},
	{name: "dispatcher/rediserr", by: []string{"dispatcher", "engine"}},
	{name: "dispatcher/reconnect", by: []string{"dispatcher", "engine"}},
	{name: "dispatcher/respguard", by: []string{"dispatcher", "engine", "engine/faults"}},
	{name: "engine", by: []string{"engine/faults", "engine/features", "engine/clusters", "engine/elect"}},
	{name: "engine/elect"},
}

// goTested is a package and what may find its mutants.
type goTested struct {
	name     string
	explored bool     // the explorer runs it
	by       []string // packages with tests that run it, besides its own
}

//go:embed switch.go.txt
var switchText string

// isMeant reports whether -package names the package, its folder, or a file in it.
func (t goTested) isMeant(group string) bool {
	if filepath.Ext(group) == ".go" {
		group = filepath.Dir(group)
	}
	return group == t.name || group == filepath.Base(t.name)
}

// goMutants are the mutants of some packages, and the overlay of their files with all of them in it.
func goMutants(root, dir string, of []goTested) ([]*Mutant, *overlay, error) {
	o := newOverlay(dir)
	var all []*Mutant
	number := 0
	for _, tested := range of {
		p, err := loadGo(root, tested.name)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range p.files {
			some, text := mutateGo(p, f, &number)
			all = append(all, some...)
			if err := o.lay(f.path, text); err != nil {
				return nil, nil, err
			}
		}
		text := fmt.Sprintf(switchText, filepath.Base(p.name))
		if err := o.lay(filepath.Join(p.dir, "zz_mutants.go"), text); err != nil {
			return nil, nil, err
		}
	}
	return numbered(all), o, nil
}

// planGo builds the tests of the packages and the explorer, each with every mutant, and finds out which test reaches which.
func planGo(o *options, work string, say func(string, ...any)) (*plan, error) {
	chosen := goPackages
	if o.group != "" {
		chosen = slices.DeleteFunc(slices.Clone(goPackages), func(t goTested) bool {
			return !slices.ContainsFunc(strings.Split(o.group, ","), t.isMeant)
		})
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no mutants are made of package %s", o.group)
	}
	all, laid, err := goMutants(o.root, work, chosen)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(o.group) == ".go" {
		all = slices.DeleteFunc(all, func(m *Mutant) bool { return m.File != o.group })
	}
	p := &plan{name: "go", least: 90, all: all}
	p.ready = func(_ string, m *Mutant) ([]string, error) {
		if m == nil {
			return nil, nil
		}
		return []string{"WHEELLOCK_MUTANT=" + strconv.Itoa(m.number)}, nil
	}
	if o.list {
		return p, nil
	}
	say("building the tests with %d mutants in them", len(all))
	for _, name := range testedBy(chosen) {
		dir, binary := filepath.Join(o.root, name), filepath.Join(work, filepath.Base(name)+".test")
		if err := laid.build(dir, binary); err != nil {
			return nil, err
		}
		some, err := unitKillers(binary, dir, short)
		if err != nil {
			return nil, err
		}
		p.killers = append(p.killers, some...)
	}
	if slices.ContainsFunc(chosen, func(t goTested) bool { return t.explored }) {
		binary := filepath.Join(work, "explore.test")
		if err := laid.build(filepath.Join(o.root, "internal/trial/explore"), binary); err != nil {
			return nil, err
		}
		some, err := explorerKillers(o.root, binary, o)
		if err != nil {
			return nil, err
		}
		p.killers = append(p.killers, some...)
	}
	if err := p.measure(o, say, traced, work); err != nil {
		return nil, err
	}
	p.group()
	return p, nil
}

// testedBy are the packages whose tests may find mutants of the chosen ones.
func testedBy(chosen []goTested) (names []string) {
	for _, t := range chosen {
		for _, name := range append([]string{t.name}, t.by...) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// traced has a killer know the mutants that it reached.
func traced(k *Killer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	reached := make(map[int]bool)
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("%s wrote %q", k.Name, word)
		}
		reached[n] = true
	}
	k.reaches = func(m *Mutant) bool { return reached[m.number] }
	return nil
}
