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

// goPackages are those whose mutants are to be killed.
var goPackages = []string{"dispatcher/gate", "wheel", "futures"}

//go:embed switch.go.txt
var switchText string

// goMutants are the mutants of some packages, and the overlay of their files with all of them in it.
func goMutants(root, dir string, names []string) ([]*Mutant, []*goPackage, *overlay, error) {
	o := newOverlay(dir)
	var all []*Mutant
	var packages []*goPackage
	number := 0
	for _, name := range names {
		p, err := loadGo(root, name)
		if err != nil {
			return nil, nil, nil, err
		}
		packages = append(packages, p)
		for _, f := range p.files {
			some, text := mutateGo(p, f, &number)
			all = append(all, some...)
			if err := o.lay(f.path, text); err != nil {
				return nil, nil, nil, err
			}
		}
		text := fmt.Sprintf(switchText, filepath.Base(p.name))
		if err := o.lay(filepath.Join(p.dir, "zz_mutants.go"), text); err != nil {
			return nil, nil, nil, err
		}
	}
	return numbered(all), packages, o, nil
}

// planGo builds the tests of the packages and the explorer, each with every mutant, and finds out which test reaches which.
func planGo(o *options, work string, say func(string, ...any)) (*plan, error) {
	names, file := goPackages, ""
	if group := o.group; group != "" {
		if filepath.Ext(group) == ".go" {
			group, file = filepath.Dir(group), group
		}
		names = slices.DeleteFunc(slices.Clone(goPackages), func(name string) bool { return name != group && filepath.Base(name) != group })
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no mutants are made of package %s", o.group)
	}
	all, packages, laid, err := goMutants(o.root, work, names)
	if err != nil {
		return nil, err
	}
	if file != "" {
		all = slices.DeleteFunc(all, func(m *Mutant) bool { return m.File != file })
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
	for _, of := range packages {
		binary := filepath.Join(work, filepath.Base(of.name)+".test")
		if err := laid.build(of.dir, binary); err != nil {
			return nil, err
		}
		some, err := unitKillers(binary, of.dir, short)
		if err != nil {
			return nil, err
		}
		p.killers = append(p.killers, some...)
	}
	binary := filepath.Join(work, "explore.test")
	if err := laid.build(filepath.Join(o.root, "internal/trial/explore"), binary); err != nil {
		return nil, err
	}
	some, err := explorerKillers(o.root, binary, o)
	if err != nil {
		return nil, err
	}
	p.killers = append(p.killers, some...)
	if err := p.measure(o, say, traced, work); err != nil {
		return nil, err
	}
	p.group()
	return p, nil
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
