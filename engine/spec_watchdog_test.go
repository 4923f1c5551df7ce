package engine_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecWatchdog(t *testing.T) {
	t.Parallel()
	t.Run("renews when a third of the lease has passed", spec(engine.Options{}, func(b *bubble) {
		start := time.Now()
		b.lock(b.Mutex("stock:7"))
		b.wantTTL("stock:7", 30*time.Second)
		for third := time.Duration(1); third <= 3; third++ {
			due := start.Add(third * 10 * time.Second)
			sleepUntil(due.Add(-time.Millisecond))
			b.wantTTL("stock:7", 20*time.Second+time.Millisecond)
			sleepUntil(due.Add(time.Millisecond))
			if got := b.ttl("stock:7"); got < 30*time.Second-time.Millisecond {
				b.Errorf("TTL after %v = %v, want 30s again", time.Since(start), got)
			}
		}
	}))
	t.Run("takes its lease from the options, in whole milliseconds", spec(engine.Options{Lease: 6*time.Second - time.Microsecond}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.wantTTL("stock:7", 6*time.Second)
		if left := time.Until(h.Deadline()); left != 6*time.Second-60*time.Millisecond {
			b.Errorf("the deadline is %v away, want the lease less 1%%", left)
		}
		time.Sleep(2*time.Second + time.Millisecond)
		b.wantTTL("stock:7", 6*time.Second-time.Millisecond)
	}))
	t.Run("keeps locks for ten times their lease", specClean(engine.Options{}, func(b *bubble) {
		const locks = 200
		holds := make([]*engine.Hold, locks)
		for i := range holds {
			holds[i] = b.lock(b.Mutex(fmt.Sprint("stock:", i)))
		}
		other := b.another(engine.Options{})
		for range 10 {
			time.Sleep(30 * time.Second)
			_, err := other.Mutex("stock:7").TryLock(b.Context())
			b.wantIs("TryLock of another engine", err, engine.ErrHeld)
		}
		for _, h := range holds {
			b.wantHeld(h)
			if left := time.Until(h.Deadline()); left < 15*time.Second {
				b.Errorf("%s has %v left", h.Name(), left)
			}
			b.unlock(h)
		}
	}))
	t.Run("does nothing after Unlock", specClean(engine.Options{}, func(b *bubble) {
		b.unlock(b.lock(b.Mutex("stock:7")))
		time.Sleep(time.Second)
		before := b.Stats().Batches
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if sent := b.Stats().Batches - before; sent != 0 {
			b.Errorf("%d pipelines were sent though nothing is held", sent)
		}
	}))
	t.Run("does not prolong the lock of the next owner", spec(engine.Options{}, func(b *bubble) {
		b.unlock(b.lock(b.Mutex("stock:7")))
		b.lock(b.another(engine.Options{}).Mutex("stock:7"), engine.WithLease(time.Minute))
		time.Sleep(time.Minute - time.Second)
		if ttl := b.ttl("stock:7"); ttl > time.Second {
			b.Errorf("TTL = %v, want at most 1s", ttl)
		}
	}))
	t.Run("renews what was handed on", spec(engine.Options{}, func(b *bubble) {
		first := b.lock(b.Mutex("stock:7"))
		next := b.queue(b.Mutex("stock:7"))
		b.unlock(first)
		h := next.granted()
		time.Sleep(5 * time.Minute)
		b.wantHeld(h)
		b.wantKeys("stock:7")
	}))
	t.Run("invariant: no-release-by-collector: goes on when nobody refers to the hold", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		for range 3 {
			collect()
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if ttl := b.ttl("stock:7"); ttl < 20*time.Second-time.Millisecond {
			b.Errorf("TTL = %v, want a lease that is renewed", ttl)
		}
		_, err := b.another(engine.Options{}).Mutex("stock:7").TryLock(b.Context())
		b.wantIs("TryLock of another engine", err, engine.ErrHeld)
	}))
}

// collect runs the garbage collector, and waits until it has run a finalizer and a cleanup.
func collect() {
	var ran atomic.Int32
	for range 2 {
		finalized, cleaned := new([16]byte), new([16]byte)
		runtime.SetFinalizer(finalized, func(*[16]byte) { ran.Add(1) })
		runtime.AddCleanup(cleaned, func(int) { ran.Add(1) }, 0)
	}
	for ran.Load() < 4 {
		runtime.GC()
	}
}

func TestSpecMaxHold(t *testing.T) {
	t.Parallel()
	bounded := engine.Options{MaxHold: 45 * time.Second}
	t.Run("ends a watched hold with ErrMaxHold, which is ErrLost", spec(bounded, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx := h.Context(b.Context())
		waiter := b.queue(b.Mutex("stock:7"))
		time.Sleep(45*time.Second - time.Nanosecond)
		b.wantHeld(h)
		waiter.wantWaiting()
		time.Sleep(time.Nanosecond)
		b.wantEnded(h, engine.ErrMaxHold, engine.ErrLost)
		b.wantIs("cause", causeOf(ctx), engine.ErrMaxHold)
		waiter.wantGrantedNow()
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrMaxHold)
	}))
	t.Run("frees the key", specClean(bounded, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		time.Sleep(45 * time.Second)
	}))
	t.Run("counts anew for whom the lock is handed on to", spec(bounded, func(b *bubble) {
		first := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		time.Sleep(30 * time.Second)
		b.unlock(first)
		h := waiter.granted()
		time.Sleep(45*time.Second - time.Nanosecond)
		b.wantHeld(h)
		time.Sleep(time.Nanosecond)
		b.wantEnded(h, engine.ErrMaxHold)
	}))
	t.Run("does not bound fixed leases", spec(bounded, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Hour))
		time.Sleep(30 * time.Minute)
		b.wantHeld(h)
	}))
}
