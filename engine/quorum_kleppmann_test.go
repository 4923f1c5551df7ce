package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// These are the examples by which Martin Kleppmann showed what an algorithm like this does not protect from ("How to do
// distributed locking", 2016). They show it here, and what is protected all the same: the first holder is told, though
// it may be after the second has begun. Where that is too late, only a resource that looks at fencing tokens helps.

// The clock of a server jumps, so that the lock there is over before its time. An operator's PEXPIRE stands for that.
func TestQuorumKleppmannClockJump(t *testing.T) {
	t.Parallel()
	jump := func(s *redistest.Server) { s.MustDo("PEXPIRE", "stock:7", "-1") }
	t.Run("on one of five that hold it lets nobody in", func(t *testing.T) {
		f := startFleet(t, engine.Options{})
		first := testkit.MustLock(t, f.lock(t))
		redistest.Await(t, "all five to hold it", func() bool { return f.holders() == 5 })
		jump(f.servers[2])
		others := f.another(t)
		if _, err := others.lock(t).TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrHeld) {
			t.Errorf("TryLock of a second: %v, want ErrHeld", err)
		}
		if err := first.Err(); err != nil {
			t.Errorf("the first holder was told %v", err)
		}
		testkit.MustUnlock(t, first)
	})
	t.Run("on one of a bare majority lets a second holder in", func(t *testing.T) {
		f := startFleet(t, engine.Options{Lease: 9 * time.Second})
		for _, i := range []int{3, 4} {
			f.servers[i].Kill()
		}
		first := testkit.MustLock(t, f.lock(t))
		jump(f.servers[2])
		for _, i := range []int{3, 4} {
			f.servers[i].Restart()
		}
		f.secondHolder(t, first)
	})
}

// A server comes back without its data, and has forgotten whom it gave its part: a second majority can form.
func TestQuorumKleppmannRestart(t *testing.T) {
	t.Parallel()
	t.Run("of a minority lets nobody in", func(t *testing.T) {
		f := startFleet(t, engine.Options{})
		first := testkit.MustLock(t, f.lock(t))
		redistest.Await(t, "all five to hold it", func() bool { return f.holders() == 5 })
		for _, i := range []int{0, 1} {
			f.servers[i].Kill()
			f.servers[i].Restart()
		}
		if _, err := f.another(t).lock(t).TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrHeld) {
			t.Errorf("TryLock of a second: %v, want ErrHeld", err)
		}
		testkit.MustUnlock(t, first)
	})
	t.Run("of a majority within the lease lets a second holder in", func(t *testing.T) {
		f := startFleet(t, engine.Options{Lease: 9 * time.Second})
		first := testkit.MustLock(t, f.lock(t))
		for _, i := range []int{0, 1, 2} {
			f.servers[i].Kill()
			f.servers[i].Restart()
		}
		f.secondHolder(t, first)
	})
}

// secondHolder has another process get the lock although nobody told the first holder, who is told later.
func (f *fleet) secondHolder(t *testing.T, first *engine.Hold) {
	t.Helper()
	second := testkit.MustLock(t, f.another(t).lock(t))
	defer testkit.MustUnlock(t, second)
	t.Logf("when the second began, the first had been told: %v", first.Err())
	if err := testkit.MustEnd(t, first); !errors.Is(err, engine.ErrLost) {
		t.Errorf("the first holder was told %v, want ErrLost", err)
	}
}
