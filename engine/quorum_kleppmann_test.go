package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
)

// These are the examples by which Martin Kleppmann showed what an algorithm like this does not protect from ("How to do
// distributed locking", 2016). They show it here, and what is protected all the same: the first holder is told, though
// it may be after the second has begun. Where that is too late, only a resource that looks at fencing tokens helps.

// The clock of a server jumps, so that the lock there is over before its time.
func TestQuorumKleppmannClockJump(t *testing.T) {
	t.Parallel()
	jump := func(s *redisnet.Server) { s.Do("PEXPIRE", "stock:7", "-1") } // stands for that
	t.Run("on one of five that hold it lets nobody in", func(t *testing.T) {
		onFleet(t, engine.Options{}, func(f *fleet) {
			first := testkit.MustLock(f.T, f.lock())
			time.Sleep(time.Second)
			f.wantWhole(first)
			jump(f.servers[2])
			f.refused(first)
		})
	})
	t.Run("on one of a bare majority lets a second holder in", func(t *testing.T) {
		onFleet(t, engine.Options{}, func(f *fleet) {
			f.servers[3].Stop()
			f.servers[4].Stop()
			first := testkit.MustLock(f.T, f.lock())
			jump(f.servers[2])
			f.servers[3].Start(nil)
			f.servers[4].Start(nil)
			f.secondHolder(first)
		})
	})
}

// A server comes back without its data, and has forgotten whom it gave its part: a second majority can form.
func TestQuorumKleppmannRestart(t *testing.T) {
	t.Parallel()
	t.Run("of a minority lets nobody in", func(t *testing.T) {
		onFleet(t, engine.Options{}, func(f *fleet) {
			first := testkit.MustLock(f.T, f.lock())
			time.Sleep(time.Second)
			f.wantWhole(first)
			f.forget(0, 1)
			f.refused(first)
		})
	})
	t.Run("of a majority within the lease lets a second holder in", func(t *testing.T) {
		onFleet(t, engine.Options{}, func(f *fleet) {
			first := testkit.MustLock(f.T, f.lock())
			f.forget(0, 1, 2)
			f.secondHolder(first)
		})
	})
}

// refused has another process ask for the lock in vain, of which the first holder hears nothing.
func (f *fleet) refused(first *engine.Hold) {
	f.T.Helper()
	if _, err := f.another().lock().TryLock(f.T.Context()); !errors.Is(err, engine.ErrHeld) {
		f.T.Errorf("TryLock of a second: %v, want ErrHeld", err)
	}
	if err := first.Err(); err != nil {
		f.T.Errorf("the first holder was told %v", err)
	}
	testkit.MustUnlock(f.T, first)
}

// secondHolder has another process get the lock although nobody told the first holder, who is told later.
func (f *fleet) secondHolder(first *engine.Hold) {
	f.T.Helper()
	second := testkit.MustLock(f.T, f.another().lock())
	defer testkit.MustUnlock(f.T, second)
	if err := first.Err(); err != nil {
		f.T.Errorf("when the second began, the first had been told %v: nothing is shown", err)
	}
	if err := testkit.MustEnd(f.T, first); !errors.Is(err, engine.ErrLost) {
		f.T.Errorf("the first holder was told %v, want ErrLost", err)
	}
}
