package interop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestSemaphoreWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	s := open(t, server, engine.Options{}).Semaphore("permits")
	ctx := context.Background()

	if got := java.Do("set-permits semaphore permits 2"); got != "true" {
		t.Fatalf("set-permits = %s", got)
	}
	if set, err := s.TrySetPermits(ctx, 5); set || err != nil {
		t.Errorf("TrySetPermits of a semaphore that Redisson has set = %t, %v", set, err)
	}
	testkit.Must(t, s.Acquire(ctx, 1))
	java.Do("acquire semaphore permits t1 1")
	if n, err := s.Available(ctx); n != 0 || err != nil {
		t.Errorf("Available = %d, %v", n, err)
	}
	testkit.WantIs(t, "TryAcquire of none", s.TryAcquire(ctx, 1), engine.ErrHeld)
	t.Run("our release wakes Redisson", func(t *testing.T) {
		answer := java.Start("acquire semaphore permits t2 1")
		awaitListener(t, server, "permits")
		testkit.Must(t, s.Release(ctx, 1))
		woken(t, answer, "Redisson's waiter")
	})
	t.Run("Redisson's release wakes ours", func(t *testing.T) {
		waiter := s.AcquireAsync(ctx, 2)
		awaitListener(t, server, "permits")
		java.Do("release semaphore permits 1")
		java.Do("release semaphore permits 1")
		within, cancel := context.WithTimeout(ctx, byMessage)
		defer cancel()
		if _, err := waiter.Wait(within); err != nil {
			t.Fatal(err)
		}
	})
	if n, err := s.Drain(ctx); n != 0 || err != nil {
		t.Errorf("Drain = %d, %v", n, err)
	}
	if err := s.AddPermits(ctx, 3); err != nil {
		t.Error(err)
	}
	if got := java.Do("available semaphore permits"); got != "3" {
		t.Errorf("Redisson sees %s permits, want 3", got)
	}
	t.Run("who deletes it on one side deletes it on the other", func(t *testing.T) {
		if deleted, err := s.Delete(ctx); !deleted || err != nil || java.Do("set-permits semaphore permits 1 60000") != "true" {
			t.Errorf("Delete = %t, %v, or Redisson still sees permits", deleted, err)
		}
		if ttl := server.MustDo("PTTL", "permits").Int; ttl <= 0 || java.Do("delete semaphore permits") != "true" {
			t.Errorf("Redisson's permits live for %d ms, or cannot be deleted", ttl)
		}
		if set, err := s.TrySetPermitsFor(ctx, 2, time.Minute); !set || err != nil || java.Do("available semaphore permits") != "2" {
			t.Errorf("TrySetPermitsFor after Redisson's delete = %t, %v", set, err)
		}
		if ttl := server.MustDo("PTTL", "permits").Int; ttl <= 0 || ttl > 60_000 {
			t.Errorf("our permits live for %d ms", ttl)
		}
	})
}

func TestLatchWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	l := open(t, server, engine.Options{}).CountDownLatch("start")
	ctx := context.Background()
	if set, err := l.TrySetCount(ctx, 2); !set || err != nil {
		t.Fatalf("TrySetCount = %t, %v", set, err)
	}
	if got := java.Do("count latch start"); got != "2" {
		t.Errorf("Redisson sees a count of %s", got)
	}
	theirs, ours := java.Start("await start t1"), l.WaitAsync(ctx)
	awaitListener(t, server, "start")
	java.Do("count-down start")
	if n, err := l.Count(ctx); n != 1 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
	testkit.Must(t, l.CountDown(ctx))
	woken(t, theirs, "Redisson's waiter")
	within, cancel := context.WithTimeout(ctx, byMessage)
	defer cancel()
	if _, err := ours.Wait(within); err != nil {
		t.Fatal(err)
	}
	t.Run("Redisson's last count wakes ours", func(t *testing.T) {
		if got := java.Do("set-count start 1"); got != "true" {
			t.Fatalf("set-count = %s", got)
		}
		ours := l.WaitAsync(ctx)
		awaitListener(t, server, "start")
		java.Do("count-down start")
		if _, err := ours.Wait(within); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFencingWithRedisson: both count with one counter, and tokens grow from owner to owner.
func TestFencingWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	e := open(t, server, engine.Options{})
	last := int64(0)
	for range 5 {
		h, err := e.FencedMutex("shelf").Lock(context.Background())
		testkit.Must(t, err)
		ours, _ := h.Token()
		unlock(t, h)
		var theirs int64
		fmt.Sscan(java.Do("lock-token shelf t1"), &theirs)
		java.Do("unlock fenced shelf t1")
		if ours <= last || theirs <= ours {
			t.Errorf("tokens %d, ours %d, Redisson's %d: want them to grow", last, ours, theirs)
		}
		last = theirs
	}
}

// TestLimitWithRedisson: Redisson takes and gives the permits of a limit, and is woken when it grows.
func TestLimitWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	e, ctx := open(t, server, engine.Options{}), context.Background()
	h, err := e.Limit("calls", 2).Lock(ctx)
	testkit.Must(t, err)
	id := java.Do("acquire permit calls t1 1") // of those that the limit has made
	testkit.WantIs(t, "a third", testkit.ResultOf(e.Limit("calls", 2).TryLock(ctx)), engine.ErrHeld)
	answer := java.Start("acquire permit calls t2 1")
	awaitListener(t, server, "calls")
	grown, err := e.Limit("calls", 4).Lock(ctx)
	testkit.Must(t, err)
	woken(t, answer, "Redisson's waiter")
	if held, free := java.Do("acquired permit calls"), java.Do("available permit calls"); held != "4" || free != "0" {
		t.Errorf("Redisson sees %s permits taken and %s free, want 4 and 0", held, free)
	}
	waiter := e.Limit("calls", 4).LockAsync(ctx)
	awaitListener(t, server, "calls")
	java.Do("release permit calls %s", id)
	within, cancel := context.WithTimeout(ctx, byMessage)
	defer cancel()
	last, err := waiter.Wait(within)
	testkit.Must(t, err)
	for _, h := range []*engine.Hold{h, grown, last} {
		unlock(t, h)
	}
}

// TestPermitsWithRedisson: permits that are held and expire, taken and given on both sides.
func TestPermitsWithRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	p := open(t, server, engine.Options{}).PermitSemaphore("desks")
	ctx := context.Background()
	if got := java.Do("set-permits permit desks 2"); got != "true" {
		t.Fatalf("set-permits = %s", got)
	}
	h, err := p.Acquire(ctx, 1)
	testkit.Must(t, err)
	id := java.Do("acquire permit desks t1 1")
	if n := java.Do("acquired permit desks"); n != "2" {
		t.Errorf("Redisson sees %s permits taken, want 2", n)
	}
	if n, err := p.Available(ctx); n != 0 || err != nil {
		t.Errorf("Available = %d, %v", n, err)
	}
	answer := java.Start("acquire permit desks t2 1")
	awaitListener(t, server, "desks")
	unlock(t, h)
	woken(t, answer, "Redisson's waiter")
	waiter := p.AcquireAsync(ctx, 1)
	awaitListener(t, server, "desks")
	java.Do("release permit desks %s", id)
	within, cancel := context.WithTimeout(ctx, byMessage)
	defer cancel()
	if h, err = waiter.Wait(within); err != nil {
		t.Fatal(err)
	}
	if ids := h.PermitIDs(); len(ids) != 1 || java.Do("release permit desks %s", ids[0]) != "" {
		t.Errorf("Redisson released our permit %v badly", ids)
	}
	t.Run("our SetPermits wakes Redisson, and Redisson's ours", func(t *testing.T) {
		java.Do("acquire permit desks t3 1") // the last one
		theirs := java.Start("acquire permit desks t4 1")
		awaitListener(t, server, "desks")
		testkit.Must(t, p.SetPermits(ctx, 3))
		woken(t, theirs, "Redisson's waiter")
		ours := p.AcquireAsync(ctx, 2)
		awaitListener(t, server, "desks")
		java.Do("resize permit desks 5")
		within, cancel := context.WithTimeout(ctx, byMessage)
		defer cancel()
		if _, err := ours.Wait(within); err != nil {
			t.Fatal(err)
		}
		if held, free := java.Do("acquired permit desks"), java.Do("available permit desks"); held != "5" || free != "0" {
			t.Errorf("Redisson sees %s permits taken and %s free, want 5 and 0", held, free)
		}
	})
	t.Run("who deletes it on one side deletes it on the other", func(t *testing.T) {
		if deleted, err := p.Delete(ctx); !deleted || err != nil || java.Do("acquired permit desks") != "0" || java.Do("delete permit desks") != "false" {
			t.Errorf("Delete = %t, %v, or Redisson still sees permits", deleted, err)
		}
		java.Do("resize permit desks 2")
		java.Do("acquire permit desks t5 1")
		if java.Do("delete permit desks") != "true" {
			t.Error("Redisson did not delete it")
		}
		if n, err := p.Acquired(ctx); n != 0 || err != nil {
			t.Errorf("Acquired after Redisson's delete = %d, %v", n, err)
		}
	})
}
