package wheeltus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheeltus "github.com/wheellock/wheellock/contrib/tusd"
)

// A Redis that stands still holds the answer to a request up for a tenth of a second, and no longer.
func TestUnlockWaitsForNoSilentRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, redis := enginetest.New(t, engine.Options{})
		locker, err := wheeltus.New(e, wheeltus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lock, _ := locker.NewLock("a") // NewLock never fails
		if err := lock.Lock(t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		redis.SetLatency(time.Minute)
		began := time.Now()
		err = lock.Unlock()
		if took := time.Since(began); !errors.Is(err, engine.ErrUncertain) || took > 110*time.Millisecond {
			t.Errorf("Unlock = %v after %v, want ErrUncertain after 100ms", err, took)
		}
		redis.SetLatency(0)
	})
}

// A holder may make way inside requestUnlock, as tusd's own lockers allow: Unlock does not wait for the call that it is in.
func TestRequestUnlockMayUnlock(t *testing.T) {
	t.Parallel()
	locker, err := wheeltus.New(testkit.Connect(t, redistest.Start(t).Addr()), wheeltus.Options{})
	testkit.Must(t, err)
	first, _ := locker.NewLock("a")
	second, _ := locker.NewLock("a") // NewLock never fails
	unlocked := make(chan error, 1)
	testkit.Must(t, first.Lock(t.Context(), func() { unlocked <- first.Unlock() }))
	testkit.Must(t, second.Lock(testkit.Soon(t), func() {}))
	if err := testkit.Receive(t, "Unlock inside requestUnlock", unlocked); err != nil {
		t.Error(err)
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}
