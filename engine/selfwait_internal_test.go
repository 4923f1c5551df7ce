package engine

import (
	"fmt"
	"testing"
)

// A call for many names under the context of a hold of many others looks at no more of these for each of its own.
func TestManyLocksUnderAHoldOfManyOthers(t *testing.T) {
	e := openEach(t, 1)[0]
	allOf := func(what string) *MultiLock {
		names := make([]string, 1000)
		for i := range names {
			names[i] = fmt.Sprint(what, i)
		}
		m, err := e.All(names...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	outer, inner := allOf("outer"), allOf("inner")
	h, err := outer.TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inside := h.Context(t.Context())
	for _, c := range []struct {
		lock  *MultiLock
		waits bool
	}{{inner, false}, {outer, true}} {
		const most = 20 // a walk through the parts of the hold makes a copy of them
		if allocs := testing.AllocsPerRun(10, func() {
			if got := c.lock.waitsFor(above(inside), 0); got != c.waits {
				t.Fatalf("%s waits for itself: %v, want %v", c.lock.Name()[:6], got, c.waits)
			}
		}); allocs > most {
			t.Errorf("%s: %v allocations for %d names, want %d at most", c.lock.Name()[:6], allocs, len(c.lock.members), most)
		}
	}
}
