package main

import "testing"

// A reason whose line is not there any more explains nothing. Those of Go are looked at when their mutants are tried.
func TestEveryExplanationIsOfAMutant(t *testing.T) {
	explained, err := readExplained(explainedText)
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutantsOfLua()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range explained.without(all, true) {
		t.Errorf("%s has no such mutant:\n- %s\n+ %s", e.file, e.from, e.to)
	}
}

func TestExplanations(t *testing.T) {
	explained, err := readExplained("# a word\nscripts/x.lua\n- if a then\n+ if not a then\n= why\n- b()\n+\n= why not\n")
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[*Mutant]string{
		{File: "scripts/x.lua", From: "if a then", To: "if not a then"}: "why",
		{File: "scripts/x.lua", From: "b()"}:                            "why not",
		{File: "scripts/y.lua", From: "b()"}:                            "",
	} {
		if got := explained.reason(m); got != want {
			t.Errorf("%v is explained by %q, want %q", m, got, want)
		}
	}
	if _, err := readExplained("- a\n+ b\n= why\n"); err == nil {
		t.Error("an entry without a file was read")
	}
}
