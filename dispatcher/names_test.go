package dispatcher

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// TestNamesAreAMap plays what a map does, through growth over many pages and back to few names.
func TestNamesAreAMap(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	ns, model := newNames(), make(map[string]*gate.Entry)
	for step := range 60_000 {
		adds := 4 // of 5 that are new to it
		if step > 40_000 {
			adds = 1
		}
		name := strconv.Itoa(rng.IntN(20_000))
		e := model[name]
		if got := ns.find(name); got != e {
			t.Fatalf("seed %d, step %d: %q is at %p, want %p", seed, step, name, got, e)
		}
		switch {
		case e == nil && rng.IntN(5) < adds:
			model[name] = &gate.Entry{Name: name}
			ns.add(model[name])
		case e != nil && rng.IntN(5) >= adds:
			ns.remove(e)
			delete(model, name)
		}
		if ns.live != len(model) {
			t.Fatalf("seed %d, step %d: %d live, want %d", seed, step, ns.live, len(model))
		}
	}
	if len(ns.pages) < 4 {
		t.Errorf("%d pages, want growth", len(ns.pages))
	}
	seen := make(map[*gate.Entry]bool)
	for e := range ns.all() {
		if model[e.Name] != e || seen[e] {
			t.Errorf("seed %d: %q, seen before: %v, live: %v", seed, e.Name, seen[e], model[e.Name] == e)
		}
		seen[e] = true
	}
	if len(seen) != len(model) {
		t.Errorf("seed %d: %d entries, want %d", seed, len(seen), len(model))
	}
}

// TestNamesStayApart is that growth shares them out: the longest chain of many names is short.
func TestNamesStayApart(t *testing.T) {
	const n = 100_000
	ns := newNames()
	for i := range n {
		ns.add(&gate.Entry{Name: strconv.Itoa(i)})
	}
	if ns.buckets != n {
		t.Errorf("%d buckets, want one for each of %d names", ns.buckets, n)
	}
	longest := 0
	for i := range ns.buckets {
		chain := 0
		for e := *ns.at(i); e != nil; e = e.Next {
			chain++
		}
		longest = max(longest, chain)
	}
	if longest > 30 { // not by chance: once in 10^20 tables
		t.Errorf("%d names in one bucket", longest)
	}
}

// Every name is found also where the number of bits that tell buckets apart grows.
func TestNamesAreFoundWhereBucketsDouble(t *testing.T) {
	for range 12 { // hashes differ
		ns := newNames()
		for n := range 2*len(page{}) + 2 {
			ns.add(&gate.Entry{Name: strconv.Itoa(n)})
			for i := 0; n > 2*len(page{})-4 && i <= n; i++ {
				if ns.find(strconv.Itoa(i)) == nil {
					t.Fatalf("of %d names one is not found", n+1)
				}
			}
		}
	}
}
