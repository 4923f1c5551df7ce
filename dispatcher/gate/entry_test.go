package gate

import (
	"testing"
	"time"
)

// The loop finds an entry by its alarm.
func TestTheAlarmOfAnEntryLeadsToIt(t *testing.T) {
	for kind, name := range kindNames {
		c := newBench(t, kind, 1).entry
		if c.Alarm.Value != c || c.Due != Never || !c.Machine.Idle() {
			t.Errorf("%s: a new entry is %+v", name, c)
		}
		c.Due = 7
		if c.Reuse("other", &Config{}); c.Alarm.Value != c || c.Due != Never || c.Name != "other" || c.Kind != kind {
			t.Errorf("%s: an entry that is used again is %+v", name, c)
		}
	}
}

// The value of a simple lock cannot be guessed from what Redis shows of the engine.
func TestTheOwnerOfASimpleLockHasASalt(t *testing.T) {
	for kind, want := range map[Kind]string{MutexKind: "u:7", RWKind: "u:7", SimpleKind: "u:7:salt"} {
		if is := string(kind.AppendOwner(nil, "u", "salt", 7)); is != want {
			t.Errorf("%s: the owner is %q, want %q", kindNames[kind], is, want)
		}
	}
}

// A re-entry and an adoption wait for no caller of this process, so no bound on these is for them.
func TestWhoQueues(t *testing.T) {
	playWorld(t, "behind a hold", func(w *world) {
		a := w.newProcess("A")
		c, java := a.ask(stock, wants{owner: 7}), "java:1"
		a.expect(Acquire).answer()
		for waiter, want := range map[*Waiter]bool{{}: true, {Owner: 8}: true, {Owner: 7}: false, {Adopts: &java}: false} {
			w.want(c.hold.Entry.Queues(waiter) == want, "%+v to queue: %v", waiter, want)
		}
		w.want(NewEntry("pool", SemaphoreKind, a.cfg).Queues(&Waiter{Adopts: &java}), "all callers of a semaphore to queue")
	})
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
