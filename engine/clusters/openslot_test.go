package clusters_test

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A mutex has one key, but its line has one of its own, which is not there most of the time. In a hash slot that is open on its way, for
// ever if the resharding was interrupted, a mutex that went from process to process is released and taken all the same: without a line.
// invariant: command-follows-its-slot
func TestClusterMutexInAnOpenSlotGoesOnWithoutALine(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a, b := testkit.Join(t, c), testkit.Join(t, c)
	for _, s := range []struct {
		name    string
		of      func(e *engine.Engine, name string) *engine.Mutex
		arrived bool // the lock is at the new node when it is released
	}{
		{"at home", (*engine.Engine).Mutex, false},
		{"arrived", (*engine.Engine).Mutex, true},
		{"fenced, at home", (*engine.Engine).FencedMutex, false},
		{"fenced, arrived", (*engine.Engine).FencedMutex, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			home := c.NodeOf(slotOf(s.name))
			line := scripts.LineKey(s.name)
			stands := func() bool { return home.MustDo("EXISTS", line).Int == 1 }

			first := testkit.MustLock(t, s.of(b, s.name))
			waiting := s.of(a, s.name).LockAsync(testkit.Soon(t))
			redistest.Await(t, "a place in line", stands)
			testkit.MustUnlock(t, first)
			held := testkit.MustWait(t, waiting)
			home.MustDo("DEL", line)

			move := c.BeginMove(slotOf(s.name), other(c, slotOf(s.name)))
			if s.arrived {
				move.Carry(s.name)
			}
			next := s.of(b, s.name).LockAsync(testkit.Soon(t))
			testkit.MustUnlock(t, held)
			if _, fenced := held.Token(); !fenced { // the counter of a fenced one may be at the other node
				testkit.MustUnlock(t, testkit.MustWait(t, next))
				next = s.of(b, s.name).LockAsync(testkit.Soon(t))
			}
			move.Complete()
			testkit.MustUnlock(t, testkit.MustWait(t, next))
		})
	}
}

// told makes two engines of a cluster that wait for what they are told.
func told(t *testing.T) (c *redistest.Cluster, a, b *engine.Engine) {
	c = redistest.StartCluster(t, 3, 0)
	never := func(o *engine.Options) { o.PollCap = time.Minute }
	return c, testkit.Join(t, c, never), testkit.Join(t, c, never)
}

// early ends after half of the first sleep of a waiter of told that nothing shortens.
func early(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// unlockNext unlocks what the next caller gets.
func unlockNext(t *testing.T, next *futures.Future[*engine.Hold]) {
	t.Helper()
	held, err := next.Wait(t.Context()) // it ends by the caller's own context
	if err != nil {
		t.Error(err)
		return
	}
	testkit.MustUnlock(t, held)
}

// A node that does not serve a hash slot yet publishes where nobody listens. The waiters for a name there ask again and again, and callers
// of another engine do not starve them.
func TestClusterMutexInAnOpenSlotIsAskedFor(t *testing.T) {
	t.Parallel()
	c, a, b := told(t)
	const name = "arrives"
	move := c.BeginMove(slotOf(name), other(c, slotOf(name)))
	held := testkit.MustLock(t, a.Mutex(name))
	soon := early(t)
	next := b.Mutex(name).LockAsync(soon)
	redistest.Await(t, "a refusal", func() bool { return b.Stats().Waits > 0 })
	testkit.MustUnlock(t, held)
	unlockNext(t, next)
	move.Complete()
}

// Likewise the waiters for permits and for a latch, where the keys have arrived.
func TestClusterCountsInAnOpenSlotAreAskedFor(t *testing.T) {
	t.Parallel()
	c, a, b := told(t)
	did := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	const name, latch = "{counted}", "counted"
	for _, e := range []*engine.Engine{a, b} { // so that each has a receipt, which is carried over
		did("Release", e.Semaphore(name).Release(testkit.Soon(t), 1))
	}
	_, err := a.CountDownLatch(latch).TrySetCount(testkit.Soon(t), 1)
	did("TrySetCount", err)
	move := c.BeginMove(slotOf(name), other(c, slotOf(name)))
	for move.Keys(100) > 0 {
	}
	did("Acquire", a.Semaphore(name).Acquire(testkit.Soon(t), 2))
	soon := early(t)
	permit, gate := b.Semaphore(name).AcquireAsync(soon, 1), b.CountDownLatch(latch).WaitAsync(soon)
	redistest.Await(t, "two refusals", func() bool { return b.Stats().Waits > 1 })
	did("Release", a.Semaphore(name).Release(testkit.Soon(t), 2))
	did("CountDown", a.CountDownLatch(latch).CountDown(testkit.Soon(t)))
	if _, err := permit.Wait(soon); err != nil {
		t.Errorf("the semaphore: %v", err)
	}
	if _, err := gate.Wait(soon); err != nil {
		t.Errorf("the latch: %v", err)
	}
	move.Complete()
}

// At a node that its hash slot is leaving a release does not find that the lock is free, and gives it to nobody: the first in line is told to
// ask.
// invariant: command-follows-its-slot
func TestClusterLineInAnOpenSlotIsTold(t *testing.T) {
	t.Parallel()
	c, a, b := told(t)
	for name, of := range map[string]func(e *engine.Engine) engine.Locker{
		"left":        func(e *engine.Engine) engine.Locker { return e.Mutex("left") },
		"left:write":  func(e *engine.Engine) engine.Locker { return e.RWMutex("left:write").Writer() },
		"left:simple": func(e *engine.Engine) engine.Locker { return e.SimpleMutex("left:simple") },
	} {
		t.Run(name, func(t *testing.T) {
			home := c.NodeOf(slotOf(name))
			held := testkit.MustLock(t, of(a))
			soon := early(t)
			next := of(b).LockAsync(soon)
			redistest.Await(t, "a place in line", func() bool { return home.MustDo("EXISTS", scripts.LineKey(name)).Int == 1 })
			move := c.BeginMove(slotOf(name), other(c, slotOf(name)))
			testkit.MustUnlock(t, held)
			unlockNext(t, next)
			move.Complete()
		})
	}
}
