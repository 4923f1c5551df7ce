package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var worldName = regexp.MustCompile(`\b(worlds|threeEngines|big|bigCount|givenBig|bigLine)\("([^"]+)"`)

// quickWorlds are the small worlds that are searched completely within seconds.
var quickWorlds = regexp.MustCompile(`(?s)var quick = map\[string\]bool\{(.*?)\n\}`)

// explorerKillers are runs of the explorer in one world each: walks through big worlds, some and then many, each of which has its part
// of the walks. A walk costs a thousandth of a second. A search of a small world costs seconds: only with search, of the quick ones,
// and with long, of all.
func explorerKillers(root, binary string, o *options) ([]*Killer, error) {
	dir := filepath.Join(root, "internal/trial/explore")
	worlds, err := os.ReadFile(filepath.Join(dir, "worlds.go"))
	if err != nil {
		return nil, err
	}
	tests, err := os.ReadFile(filepath.Join(dir, "explore_test.go"))
	if err != nil {
		return nil, err
	}
	quick := quickWorlds.FindString(string(tests))
	var killers []*Killer
	add := func(name string, args ...string) {
		killers = append(killers, &Killer{Name: name, Explorer: true, binary: binary, dir: dir, args: append(args, "-test.failfast")})
	}
	var big []string
	for _, found := range worldName.FindAllStringSubmatch(string(worlds), -1) {
		switch {
		case strings.Contains(strings.ToLower(found[1]), "big"):
			big = append(big, "big "+found[2])
		case o.long || o.search && strings.Contains(quick, strconv.Quote(found[2])):
			add("search of "+found[2], "-test.run=^TestSearch$", "-world", found[2])
		}
	}
	if len(big) == 0 || o.search && len(killers) == 0 {
		return nil, fmt.Errorf("no worlds in %s", dir)
	}
	for _, world := range slices.Sorted(slices.Values(big)) {
		for _, n := range []int{o.walks / 20, o.walks} {
			add(fmt.Sprintf("%d walks of %s", n/len(big), world), "-test.run=^TestWalk$", "-world", world, "-walks", strconv.Itoa(n))
		}
	}
	return killers, nil
}
