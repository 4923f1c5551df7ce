package main

import "testing"

func TestNames(t *testing.T) {
	n := names{prefix: "abcdefg:"}
	if got, want := n.build(0x2a), "abcdefg:000000000000002a"; got != want {
		t.Errorf("build(0x2a) = %q, want %q", got, want)
	}
	seen := make(map[string]bool)
	for caller := range 20 {
		for call := range uint64(20) {
			name := n.ofCaller(caller, call)
			if len(name) != nameLength || seen[name] {
				t.Fatalf("%q is not a new name of %d bytes", name, nameLength)
			}
			seen[name] = true
		}
	}
	if a, b := freshPrefix(), freshPrefix(); len(a) != 8 || a == b {
		t.Errorf("prefixes %q and %q", a, b)
	}
	if allocations := testing.AllocsPerRun(100, func() { _ = n.ofCaller(3, 4) }); allocations > 1 {
		t.Errorf("a name costs %g allocations, want 1", allocations)
	}
}
