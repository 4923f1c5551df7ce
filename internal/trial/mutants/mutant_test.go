package main

import (
	"strconv"
	"testing"
)

func TestApply(t *testing.T) {
	got := apply("a<b", []edit{{0, 0, "less("}, {1, 1, ")"}, {1, 2, ", "}, {2, 2, "("}, {3, 3, "))"}})
	if want := "less(a), (b))"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Of mutants that look alike each has a key of its own; lines above do not change it.
func TestKeys(t *testing.T) {
	a, b, c := &Mutant{File: "f.lua", From: "x"}, &Mutant{File: "f.lua", From: "x", Line: 9}, &Mutant{File: "f.lua", From: "x", Line: 3}
	numbered([]*Mutant{a, b})
	if a.Key() == b.Key() {
		t.Error("two of them have one key")
	}
	if c.Key() != a.Key() {
		t.Error("the line is part of the key")
	}
}

func TestShards(t *testing.T) {
	all := make([]*Mutant, 10)
	for i := range all {
		all[i] = &Mutant{From: strconv.Itoa(i)}
	}
	seen := make(map[*Mutant]bool)
	for _, which := range []string{"1/4", "2/4", "3/4", "4/4"} {
		some, err := shard(all, which)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range some {
			if seen[m] {
				t.Errorf("%v is in two parts", m.From)
			}
			seen[m] = true
		}
		if fewer, _ := shard(all[1:], which); len(some)-len(fewer) > 1 {
			t.Errorf("%s has %d of all and %d without the first", which, len(some), len(fewer))
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d are in a part", len(seen), len(all))
	}
	for _, wrong := range []string{"", "0/2", "3/2", "a/b", "1"} {
		if _, err := shard(all, wrong); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}
