package engine

import (
	"testing"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/scripts"
)

// Each hash slot is of one share, and a key is served by the dispatcher whose share has its hash slot.
// invariant: one-command-per-name
func TestSharesOfHashSlots(t *testing.T) {
	keys := []string{"stock:7", "{order}:7", "", "ab", "\xff"}
	for n := 1; n <= maxDispatchers; n++ {
		next := 0
		for i := range n {
			first, last := share(i, n)
			if int(first) != next || last < first {
				t.Fatalf("of %d dispatchers number %d serves %d to %d, want from %d on", n, i, first, last, next)
			}
			next = int(last) + 1
		}
		if next != scripts.HashSlots {
			t.Fatalf("%d dispatchers serve %d hash slots", n, next)
		}
		ds := make(dispatchers, n)
		for _, key := range keys {
			slot := scripts.HashSlot(key)
			if first, last := share(int(ds.index(key)), n); slot < first || slot > last {
				t.Errorf("of %d dispatchers number %d serves %q, which is in hash slot %d", n, ds.index(key), key, slot)
			}
		}
	}
}

// Names that have the same derived keys must meet in one dispatcher, which refuses to serve both, also where braces are odd.
// invariant: one-kind-per-name
func TestAliasesShareADispatcher(t *testing.T) {
	ds := make(dispatchers, maxDispatchers)
	for _, name := range []string{"a", "stock:7", "a}b", "}", "}x", "x}", "a}b}c", "a b"} {
		if one, other := ds.index(name), ds.index(scripts.Alias(name)); one != other {
			t.Errorf("%q is served by dispatcher %d, %q by %d", name, one, scripts.Alias(name), other)
		}
	}
}

// The number of an owner id says which dispatcher has made it, and Lua can calculate with the greatest one.
// invariant: released-owner-is-dead
func TestNumbersOfDispatchersAreExact(t *testing.T) {
	const exact = uint64(1) << 53
	if greatest := uint64(maxDispatchers) << numberBits; greatest > exact {
		t.Errorf("numbers may grow to %d, Lua calculates up to %d", greatest, exact)
	}
	e := &Engine{dispatchers: make(dispatchers, maxDispatchers)}
	for i := range e.dispatchers {
		e.dispatchers[i] = new(dispatcher.Dispatcher)
	}
	for i, want := range e.dispatchers {
		for _, number := range []uint64{uint64(i)<<numberBits + 1, uint64(i+1)<<numberBits - 1} {
			h := &Hold{e: e}
			if h.core.Tenure = number; h.dispatcher() != want {
				t.Errorf("a hold of tenure %d is not one of dispatcher %d", number, i)
			}
		}
	}
}
