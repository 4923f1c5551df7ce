package interop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

func TestSemaphoreWithRedisson(t *testing.T) {
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
	if err := s.Acquire(ctx, 1); err != nil {
		t.Fatal(err)
	}
	java.Do("acquire semaphore permits t1 1")
	if n, err := s.Available(ctx); n != 0 || err != nil {
		t.Errorf("Available = %d, %v", n, err)
	}
	if err := s.TryAcquire(ctx, 1); !errors.Is(err, engine.ErrHeld) {
		t.Errorf("TryAcquire of none = %v", err)
	}
	t.Run("our release wakes Redisson", func(t *testing.T) {
		answer := java.Start("acquire semaphore permits t2 1")
		awaitWaiter(t, server, false)
		if err := s.Release(ctx, 1); err != nil {
			t.Fatal(err)
		}
		woken(t, answer, "Redisson's waiter")
	})
	t.Run("Redisson's release wakes ours", func(t *testing.T) {
		waiter := s.AcquireAsync(ctx, 2)
		redistest.Await(t, "ours listens", func() bool { return server.Subscriptions().Count() > 0 })
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
}

// TestSemaphoreContendedWithRedisson: a semaphore of one permit excludes.
func TestSemaphoreContendedWithRedisson(t *testing.T) {
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	s := open(t, server, engine.Options{}).Semaphore("one")
	ctx := context.Background()
	if _, err := s.TrySetPermits(ctx, 1); err != nil {
		t.Fatal(err)
	}
	d := contention(t)
	theirs := java.Start("contend semaphore one 4 %g counters", d.Seconds())
	end := time.Now().Add(d)
	sections, together := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(end) {
				if err := s.Acquire(ctx, 1); err != nil {
					t.Error(err)
					return
				}
				inside := server.MustDo("INCR", "counters:one:inside").Int
				n := server.MustDo("GET", "counters:one:count")
				var count int64
				fmt.Sscan(n.Text, &count)
				server.MustDo("SET", "counters:one:count", fmt.Sprint(count+1))
				server.MustDo("DECR", "counters:one:inside")
				mu.Lock()
				sections++
				if inside != 1 {
					together++
				}
				mu.Unlock()
				if err := s.Release(ctx, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	answer, ok := read(<-theirs)
	if !ok || field(t, answer, "violations")+int64(together) > 0 || field(t, answer, "errors") > 0 {
		t.Fatalf("ours %d times together; Redisson said %s", together, answer)
	}
	if n := server.MustDo("GET", "counters:one:count").Text; n != fmt.Sprint(int64(sections)+field(t, answer, "sections")) {
		t.Errorf("the counter stands at %s; ours %d, Redisson's %s", n, sections, answer)
	}
	if n, err := s.Available(ctx); n != 1 || err != nil {
		t.Errorf("Available at the end = %d, %v, want 1", n, err)
	}
}

func TestLatchWithRedisson(t *testing.T) {
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
	redistest.Await(t, "somebody listens", func() bool { return server.Subscriptions().Count() > 0 })
	java.Do("count-down start")
	if n, err := l.Count(ctx); n != 1 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
	if err := l.CountDown(ctx); err != nil {
		t.Fatal(err)
	}
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
		redistest.Await(t, "ours listens", func() bool { return server.Subscriptions().Count() > 0 })
		java.Do("count-down start")
		if _, err := ours.Wait(within); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNameMapperWithRedisson: a prefix on both sides.
func TestNameMapperWithRedisson(t *testing.T) {
	server := redistest.Start(t)
	java := StartRedisson(t, server, "--prefix", "shop:")
	e := open(t, server, engine.Options{NameMapper: func(name string) string { return "shop:" + name }})
	h, err := e.Mutex("stock:7").Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := java.Do("locked lock stock:7"); got != "true" {
		t.Errorf("Redisson's isLocked = %s", got)
	}
	answer := java.Start("lock lock stock:7 t1")
	awaitWaiter(t, server, false)
	unlock(t, h)
	woken(t, answer, "Redisson's waiter")
	if keys := server.Keys(); len(keys) == 0 || keys[0] != "shop:stock:7" {
		t.Errorf("keys %q, want shop:stock:7", keys)
	}
}

// TestFencingWithRedisson: both count with one counter, and tokens grow from owner to owner.
func TestFencingWithRedisson(t *testing.T) {
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	e := open(t, server, engine.Options{})
	last := int64(0)
	for range 5 {
		h, err := e.FencedMutex("shelf").Lock(context.Background())
		if err != nil {
			t.Fatal(err)
		}
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
