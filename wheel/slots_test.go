package wheel

import (
	"iter"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// lease stands for what a loop keeps in slots.
type lease struct {
	id    int
	place Timer[*lease]
}

func newLease(id int) *lease {
	l := &lease{id: id}
	l.place.Value = l
	return l
}

func newLeases(n int) (leases []*lease) {
	for i := range n {
		leases = append(leases, newLease(i))
	}
	return leases
}

func ids(due iter.Seq[*lease]) (ids []int) {
	for l := range due {
		ids = append(ids, l.id)
	}
	return ids
}

func wantIDs(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s yields %v, want %v", what, got, want)
	}
}

func TestSlots(t *testing.T) {
	var armed []Tick
	setup := func(n int) (*Slots[*lease], []*lease) {
		armed = nil
		return NewSlots[*lease](n, func(at Tick) { armed = append(armed, at) }), newLeases(6)
	}
	wantArmed := func(t *testing.T, want ...Tick) {
		t.Helper()
		if !slices.Equal(armed, want) {
			t.Errorf("armed %v, want %v", armed, want)
		}
	}

	t.Run("yields each entry at its tick, in the order of the slots and of the puts", func(t *testing.T) {
		s, l := setup(16)
		s.Put(&l[0].place, 3)
		s.Put(&l[1].place, 2)
		s.Put(&l[2].place, 3)
		s.Put(&l[3].place, 5)
		wantIDs(t, "Due(1)", ids(s.Due(1)))
		wantIDs(t, "Due(4)", ids(s.Due(4)), 1, 0, 2)
		wantIDs(t, "Due(4) again", ids(s.Due(4)))
		wantIDs(t, "Due(5)", ids(s.Due(5)), 3)
	})
	t.Run("asks once for the alarm of a slot, however often it is emptied and filled", func(t *testing.T) {
		s, l := setup(16)
		for range 3 {
			s.Put(&l[0].place, 7)
			s.Put(&l[1].place, 7)
			l[0].place.Remove()
			l[1].place.Remove()
		}
		wantArmed(t, 7)
	})
	t.Run("asks again for the next round of the same slot", func(t *testing.T) {
		s, l := setup(8)
		s.Put(&l[0].place, 7)
		ids(s.Due(7))
		s.Put(&l[0].place, 15)
		wantArmed(t, 7, 15)
	})
	t.Run("puts what is late into the next tick", func(t *testing.T) {
		s, l := setup(16)
		ids(s.Due(10))
		s.Put(&l[0].place, 3)
		if got := l[0].place.at; got != 11 {
			t.Errorf("At = %d, want 11", got)
		}
		wantArmed(t, 11)
		wantIDs(t, "Due(10)", ids(s.Due(10)))
		wantIDs(t, "Due(11)", ids(s.Due(11)), 0)
	})
	t.Run("moves an entry that is in a slot", func(t *testing.T) {
		s, l := setup(16)
		s.Put(&l[0].place, 3)
		s.Put(&l[0].place, 9)
		wantIDs(t, "Due(8)", ids(s.Due(8)))
		wantIDs(t, "Due(9)", ids(s.Due(9)), 0)
	})
	t.Run("keeps what is beyond the horizon, and asks for its next alarm", func(t *testing.T) {
		s, l := setup(8)
		s.Put(&l[0].place, 20)
		if got := l[0].place.at; got != 20 {
			t.Errorf("At = %d, want 20", got)
		}
		wantArmed(t, 8)
		wantIDs(t, "Due(8)", ids(s.Due(8)))
		wantArmed(t, 8, 16)
		wantIDs(t, "Due(17)", ids(s.Due(17)))
		wantArmed(t, 8, 16, 20)
		wantIDs(t, "Due(20)", ids(s.Due(20)), 0)
	})
	t.Run("yields nothing before its time after a jump over several rounds", func(t *testing.T) {
		s, l := setup(8)
		s.Put(&l[0].place, 1_000_000)
		s.Put(&l[1].place, 999_999)
		s.Put(&l[2].place, 4)
		wantIDs(t, "Due(999999)", ids(s.Due(999_999)), 2, 1)
		wantIDs(t, "Due(1000000)", ids(s.Due(1_000_000)), 0)
	})
	t.Run("costs a long jump no more than one round", func(t *testing.T) {
		s, l := setup(8)
		s.Put(&l[0].place, 5)
		wantIDs(t, "Due(1<<62)", ids(s.Due(1<<62)), 0) // would never end if it went tick by tick
	})
	t.Run("lets the body put the entry again, for the next tick at the earliest", func(t *testing.T) {
		s, l := setup(8)
		s.Put(&l[0].place, 1)
		for l := range s.Due(1) {
			if l.place.In() {
				t.Error("the entry yielded is still in its slot")
			}
			s.Put(&l.place, 0)
		}
		wantIDs(t, "Due(2)", ids(s.Due(2)), 0)
	})
	t.Run("lets the body remove and move what is due in the same loop", func(t *testing.T) {
		s, l := setup(8)
		for i := range 4 {
			s.Put(&l[i].place, 1)
		}
		var got []int
		for due := range s.Due(1) {
			got = append(got, due.id)
			l[1].place.Remove()
			s.Put(&l[2].place, 6)
		}
		wantIDs(t, "Due(1)", got, 0, 3)
		wantIDs(t, "Due(6)", ids(s.Due(6)), 2)
	})
	t.Run("keeps the rest for the next call when the body breaks out", func(t *testing.T) {
		s, l := setup(8)
		for i := range 3 {
			s.Put(&l[i].place, 1)
		}
		for range s.Due(1) {
			break
		}
		if !l[1].place.In() || !l[2].place.In() {
			t.Error("after one of three the others are in no slot")
		}
		l[1].place.Remove()
		wantIDs(t, "Due(1)", ids(s.Due(1)), 2)
	})
	t.Run("is quiet when nothing is to be opened or yielded", func(t *testing.T) {
		s, l := setup(8)
		ids(s.Due(5))
		for i := range 2 {
			s.Put(&l[i].place, 7)
		}
		for now, want := range map[Tick]bool{4: true, 5: true, 6: false, 7: false} {
			if got := s.Quiet(now); got != want {
				t.Errorf("Quiet(%d) = %v, want %v", now, got, want)
			}
		}
		for range s.Due(7) {
			break
		}
		if s.Quiet(7) || s.Quiet(4) {
			t.Error("Quiet while one of two has not been yielded")
		}
	})
	t.Run("opens nothing when told an earlier tick", func(t *testing.T) {
		s, l := setup(8)
		ids(s.Due(5))
		s.Put(&l[0].place, 6)
		wantIDs(t, "Due(-3)", ids(s.Due(-3)))
		wantIDs(t, "Due(6)", ids(s.Due(6)), 0)
	})
	t.Run("removes what is in no slot without harm", func(t *testing.T) {
		s, l := setup(8)
		l[0].place.Remove()
		s.Put(&l[0].place, 1)
		l[0].place.Remove()
		l[0].place.Remove()
		if l[0].place.In() {
			t.Error("it is in a slot")
		}
	})
	t.Run("names the first slot that holds anything", func(t *testing.T) {
		s, l := setup(8)
		ids(s.Due(4))
		s.Put(&l[0].place, 30)
		s.Put(&l[1].place, 6)
		s.Put(&l[2].place, 9)
		l[2].place.Remove()
		if got, any := s.Next(); got != 6 || !any {
			t.Errorf("Next = %v, %v, want 6", got, any)
		}
		l[1].place.Remove()
		if got, any := s.Next(); got != 12 || !any {
			t.Errorf("Next = %v, %v, want 12: the furthest slot", got, any)
		}
		l[0].place.Remove()
		if got, any := s.Next(); any {
			t.Errorf("Next = %v, although all are empty", got)
		}
	})
	t.Run("works with one slot and without an alarm", func(t *testing.T) {
		s, l := NewSlots[*lease](-1, nil), newLeases(2)
		s.Put(&l[0].place, 3)
		s.Put(&l[1].place, 1)
		wantIDs(t, "Due(2)", ids(s.Due(2)), 1)
		wantIDs(t, "Due(3)", ids(s.Due(3)), 0)
	})
}

func TestEntryIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Timer[*lease]{}); size > 40 {
		t.Errorf("an entry takes %d bytes, want at most 40", size)
	}
}

func TestSlotsDoNotAllocate(t *testing.T) {
	s, leases := NewSlots[*lease](64, func(Tick) {}), newLeases(100)
	now := Tick(0)
	allocs := testing.AllocsPerRun(100, func() {
		now += 7
		for i, l := range leases {
			s.Put(&l.place, now+Tick(i))
		}
		leases[50].place.Remove()
		for range s.Due(now) {
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations in a turn, want 0", allocs)
	}
}

func TestTicks(t *testing.T) {
	const length = 50 * time.Millisecond
	for _, c := range []struct {
		at          time.Duration
		floor, ceil Tick
	}{
		{0, 0, 0},
		{1, 0, 1},
		{length - 1, 0, 1},
		{length, 1, 1},
		{length + 1, 1, 2},
		{-1, -1, 0},
		{-length, -1, -1},
		{-length - 1, -2, -1},
		{1<<63 - 1, Tick((1<<63 - 1) / length), Tick((1<<63-1)/length) + 1},
	} {
		if got := Floor(c.at, length); got != c.floor {
			t.Errorf("Floor(%v) = %d, want %d", c.at, got, c.floor)
		}
		if got := Ceil(c.at, length); got != c.ceil {
			t.Errorf("Ceil(%v) = %d, want %d", c.at, got, c.ceil)
		}
	}
}

func TestTickSurroundsItsInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "length"))
		at := time.Duration(rapid.Int64Range(-1e17, 1e17).Draw(t, "at"))
		if begin := Floor(at, length).Begin(length); begin > at || at-begin >= length {
			t.Fatalf("%v is not in tick %d, which begins at %v", at, Floor(at, length), begin)
		}
		if begin := Ceil(at, length).Begin(length); begin < at || begin-at >= length {
			t.Fatalf("tick %d, which begins at %v, is not the first after %v", Ceil(at, length), begin, at)
		}
	})
}
