package wheel

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naive says what Slots must do, in the plainest way: a list of what waits, searched and sorted each time.
type naive struct {
	horizon, opened Tick
	puts            int
	waiting         []naiveEntry // in slots not opened
	due             []naiveEntry // in opened slots
}

type naiveEntry struct {
	id       int
	at, slot Tick
	put      int
}

func (n *naive) remove(id int) {
	same := func(e naiveEntry) bool { return e.id == id }
	n.waiting = slices.DeleteFunc(n.waiting, same)
	n.due = slices.DeleteFunc(n.due, same)
}

func (n *naive) put(id int, at Tick) {
	n.remove(id)
	n.place(id, max(at, n.opened+1))
}

func (n *naive) place(id int, at Tick) {
	n.puts++
	n.waiting = append(n.waiting, naiveEntry{id, at, min(at, n.opened+n.horizon), n.puts})
}

func (n *naive) open(now Tick) {
	opens := func(e naiveEntry) bool { return e.slot <= now }
	slices.SortFunc(n.waiting, func(a, b naiveEntry) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.put, b.put))
	})
	for _, e := range n.waiting {
		if opens(e) {
			n.due = append(n.due, e)
		}
	}
	n.waiting = slices.DeleteFunc(n.waiting, opens)
	n.opened = max(n.opened, now)
}

// next returns the next entry that is due, or -1.
func (n *naive) next() int {
	for len(n.due) > 0 {
		e := n.due[0]
		n.due = n.due[1:]
		if e.at <= n.opened {
			return e.id
		}
		n.place(e.id, e.at)
	}
	return -1
}

// compared drives Slots and the model side by side.
type compared struct {
	*rapid.T
	slots  *Slots[*lease]
	leases []*lease
	model  *naive
	armed  map[Tick]bool // that Next has not found empty since
}

func newCompared(t *rapid.T) *compared {
	c := &compared{T: t, leases: newLeases(12), armed: map[Tick]bool{}}
	n := rapid.SampledFrom([]int{1, 2, 8, 32, 256}).Draw(t, "slots")
	c.model = &naive{horizon: Tick(n)}
	c.slots = NewSlots[*lease](n, func(at Tick) {
		if c.armed[at] || at <= c.model.opened || at > c.model.opened+c.model.horizon {
			t.Fatalf("asked for the alarm of %d, opened %d, asked before: %v", at, c.model.opened, c.armed[at])
		}
		c.armed[at] = true
	})
	return c
}

func (c *compared) put(t *rapid.T) {
	l := rapid.SampledFrom(c.leases).Draw(t, "lease")
	at := c.model.opened + Tick(rapid.IntRange(-5, 300).Draw(t, "in"))
	c.model.put(l.id, at)
	c.slots.Put(&l.place, at)
}

func (c *compared) remove(t *rapid.T) {
	l := rapid.SampledFrom(c.leases).Draw(t, "lease")
	c.model.remove(l.id)
	l.place.Remove()
}

// turn takes what is due while its body puts, removes and perhaps breaks out.
func (c *compared) turn(t *rapid.T) {
	jump := rapid.SampledFrom([]int{-2, 0, 1, 1, 2, 7, 40, 130, 1000}).Draw(t, "jump")
	now := c.model.opened + Tick(jump)
	c.model.open(now)
	c.passEmpty()
	for l := range c.slots.Due(now) {
		if want := c.model.next(); l.id != want || l.place.In() {
			t.Fatalf("Due(%d) yields %d (in a slot: %v), want %d", now, l.id, l.place.In(), want)
		}
		switch rapid.IntRange(0, 5).Draw(t, "body") {
		case 0, 1:
			c.put(t)
		case 2:
			c.remove(t)
		case 3:
			return
		}
	}
	if missing := c.model.next(); missing >= 0 {
		t.Fatalf("Due(%d) does not yield %d", now, missing)
	}
}

func (c *compared) check(t *rapid.T) {
	in := append(slices.Clone(c.model.waiting), c.model.due...)
	for _, l := range c.leases {
		i := slices.IndexFunc(in, func(e naiveEntry) bool { return e.id == l.id })
		if l.place.In() != (i >= 0) {
			t.Fatalf("lease %d in a slot: %v, want %v", l.id, l.place.In(), i >= 0)
		}
		if i >= 0 && l.place.at != in[i].at {
			t.Fatalf("lease %d is due at %d, want %d", l.id, l.place.at, in[i].at)
		}
	}
	var want []Tick
	for _, e := range c.model.waiting {
		want = append(want, e.slot)
		if !c.armed[e.slot] {
			t.Fatalf("nobody asked for the alarm of %d, where lease %d waits", e.slot, e.id)
		}
	}
	if got, any := c.slots.Next(); any != (len(want) > 0) || any && got != slices.Min(want) {
		t.Fatalf("Next = %v, %v, want the first of %v", got, any, want)
	}
	c.passEmpty()
}

// passEmpty is what Next and Due do: they find the slots empty that come before the first entry. For these arm is called again.
func (c *compared) passEmpty() {
	maps.DeleteFunc(c.armed, func(at Tick, _ bool) bool {
		return !slices.ContainsFunc(c.model.waiting, func(e naiveEntry) bool { return e.slot <= at })
	})
}

func TestSlotsDoAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCompared(t)
		t.Repeat(map[string]func(*rapid.T){
			"put": c.put, "remove": c.remove, "turn": c.turn, "": c.check,
		})
	})
}

// An owner that does nothing but follow its alarms gets every entry, none before its tick and none later
// than its alarms are, though they come late, twice and not in order.
func TestAlarmsAreEnough(t *testing.T) {
	const lateness = 9
	rapid.Check(t, func(t *rapid.T) {
		var rings []Tick
		s := NewSlots[*lease](8, func(at Tick) {
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				rings = append(rings, at+Tick(rapid.IntRange(0, lateness).Draw(t, "late")))
			}
		})
		leases := newLeases(rapid.IntRange(1, 20).Draw(t, "leases"))
		for _, l := range leases {
			s.Put(&l.place, Tick(rapid.IntRange(1, 100).Draw(t, "at")))
		}
		yielded := 0
		for len(rings) > 0 {
			slices.Sort(rings)
			now := rings[0]
			rings = rings[1:]
			for l := range s.Due(now) {
				yielded++
				if at := l.place.at; now < at || now > at+lateness {
					t.Fatalf("lease due at %d comes at %d", at, now)
				}
			}
		}
		if yielded != len(leases) {
			t.Fatalf("%d of %d leases came", yielded, len(leases))
		}
	})
}
