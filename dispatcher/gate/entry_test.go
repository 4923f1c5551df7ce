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
	b, java := newBench(t, MutexKind, time.Second), "java:1"
	b.ask(func(w *Waiter) { w.Owner = 7 })
	b.run(10 * time.Millisecond)
	for waiter, want := range map[*Waiter]bool{{}: true, {Owner: 8}: true, {Owner: 7}: false, {Adopts: &java}: false} {
		if is := b.entry.Queues(waiter); is != want {
			t.Errorf("behind a hold %+v queues: %v", waiter, is)
		}
	}
	if !newBench(t, SemaphoreKind, time.Second).entry.Queues(&Waiter{Adopts: &java}) {
		t.Error("not all callers of a semaphore queue")
	}
}

// A hold says whether the watchdog renews it.
func TestWatchedHolds(t *testing.T) {
	b := newBench(t, MutexKind, time.Second)
	watched := b.ask(func(w *Waiter) { w.Owner = 7 })
	b.run(10 * time.Millisecond)
	fixed := b.ask(func(w *Waiter) { w.Owner, w.Watch, w.LeaseTime = 7, false, 100*time.Millisecond })
	if !watched.hold.Watched() || fixed.hold.Watched() {
		t.Errorf("watched are %v and %v, want true and false", watched.hold.Watched(), fixed.hold.Watched())
	}
}
