package gate

import (
	"testing"
	"time"
)

// Only holds of an Owner are counted.
func TestHoldsAreCountedByOwner(t *testing.T) {
	var alone Hold
	if n := alone.Count(); n != 0 {
		t.Errorf("a hold without an Owner counts %d, want 0", n)
	}
	family := &holdCount{owner: 7}
	first, second := Hold{holdCount: family}, Hold{holdCount: family}
	family.add(2)
	if first.Count() != 2 || second.Count() != 2 || first.Owner() != 7 {
		t.Errorf("two holds of Owner %d count %d and %d, want 7, 2, 2", first.Owner(), first.Count(), second.Count())
	}
	first.end()
	if n := second.Count(); n != 1 {
		t.Errorf("after the end of one the other counts %d, want 1", n)
	}
}

// A hold says whether the watchdog renews it.
func TestWatchedHolds(t *testing.T) {
	w := newWorld(t)
	a := w.newProcess("A")
	watched := a.ask(stock, wants{owner: 7})
	a.expect(Acquire).answer()
	fixed := a.ask(stock, wants{owner: 7, lease: 100 * time.Millisecond})
	w.want(watched.hold.Watched() && !fixed.hold.Watched(), "%v is watched and %v is not", watched, fixed)
	w.settle()
}

// An engine that has run for years knows when a hold was granted.
func TestHoldsOfAnOldEngineKnowTheirAge(t *testing.T) {
	now := 10 * 365 * 24 * time.Hour
	w := Waiter{Hold: new(Hold), Watch: true, LeaseTime: time.Second}
	h := w.begin(now, &Tenure{Deadline: now + time.Second}, Never, 0)
	if h.Since() != now {
		t.Errorf("granted at %v, it says %v", now, h.Since())
	}
}

// maker makes its hold when it is granted one.
type maker struct {
	benchUser
	made *Hold
}

func (m *maker) Hold() *Hold {
	m.made = &Hold{By: m}
	return m.made
}

// A caller that waits without a hold makes one when it is granted, and the hold knows its entry.
func TestHoldsAreMadeForGrants(t *testing.T) {
	b := newBench(t, MutexKind, time.Second)
	m := &maker{}
	b.step(func(k Machine) {
		k.Ask(b.now, &Waiter{By: m, LeaseTime: time.Second, Watch: true, Entry: b.entry}, &b.fx)
	})
	if m.made != nil {
		t.Error("made before it was granted")
	}
	if b.run(b.rtt); m.made == nil || m.made.Entry != b.entry || !m.made.alive {
		t.Errorf("the hold that was made for the grant is %+v", m.made)
	}
}

// A late part of a hold ends with it.
func TestALatePartOfAHoldIsAsOld(t *testing.T) {
	w := Waiter{Hold: &Hold{}, Watch: true, Since: time.Hour}
	if h := w.begin(2*time.Hour, &Tenure{Deadline: Never}, Never, 3*time.Hour); h.until.at != 4*time.Hour || h.Since() != time.Hour {
		t.Errorf("it began at %v and ends at %v", h.Since(), h.until.at)
	}
}
