package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

var worldName = regexp.MustCompile(`\b(big|bigCount|givenBig|bigLine)\("([^"]+)"`)

// explorerKillers are runs of the explorer in one big world each: some walks and then many. A walk costs some thousandths of a second; a search
// of a small world would cost seconds.
func explorerKillers(root, binary string, o *options) (killers []*Killer, err error) {
	dir := filepath.Join(root, "internal/trial/explore")
	worlds, err := os.ReadFile(filepath.Join(dir, "worlds.go"))
	if err != nil {
		return nil, err
	}
	var big []string
	for _, found := range worldName.FindAllStringSubmatch(string(worlds), -1) {
		big = append(big, "big "+found[2])
	}
	if len(big) == 0 {
		return nil, fmt.Errorf("no worlds in %s", dir)
	}
	for _, world := range slices.Sorted(slices.Values(big)) {
		for _, n := range []int{o.walks / 20, o.walks} {
			killers = append(killers, &Killer{
				Name: fmt.Sprintf("%d walks of %s", n/len(big), world), Explorer: true, binary: binary, dir: dir,
				args: []string{"-test.run=^TestWalk$", "-world", world, "-walks", strconv.Itoa(n), "-test.failfast"},
			})
		}
	}
	return killers, nil
}
