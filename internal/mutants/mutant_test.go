package main

import "testing"

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
		all[i] = &Mutant{Line: i}
	}
	some, err := shard(all, "2/4")
	if err != nil || len(some) != 3 || some[0].Line != 1 || some[2].Line != 9 {
		t.Errorf("2/4 of ten are %v, %v", some, err)
	}
	for _, wrong := range []string{"", "0/2", "3/2", "a/b", "1"} {
		if _, err := shard(all, wrong); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}
