package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
)

// notes puts a name into ran when the callback of a call runs.
func notes[T any](f *futures.Future[T], name string, ran chan<- string) {
	f.Then(func(T, error) { ran <- name })
}

func TestSpecCallbacks(t *testing.T) {
	t.Parallel()
	few := engine.Options{Callbacks: 2}

	t.Run("wait for a worker, whatever was asked for", spec(few, func(b *bubble) {
		b.setPermits(b.Semaphore("semaphore"), 1)
		pool, held := b.permitPool(b.Engine, 1), b.lock(b.Mutex("unlocked"))
		b.blockCallbacks(2, b.Engine)
		ran := make(chan string, 7)
		notes(b.Mutex("a").LockAsync(b.Context()), "LockAsync", ran)
		notes(b.Mutex("b").TryLockAsync(b.Context()), "TryLockAsync", ran)
		notes(pool.AcquireAsync(b.Context(), 1), "AcquireAsync of permits", ran)
		notes(held.UnlockAsync(), "UnlockAsync", ran)
		notes(b.Semaphore("semaphore").AcquireAsync(b.Context(), 1), "AcquireAsync", ran)
		notes(b.Semaphore("semaphore").ReleaseAsync(b.Context(), 1), "ReleaseAsync", ran)
		notes(b.CountDownLatch("latch").WaitAsync(b.Context()), "WaitAsync", ran)
		synctest.Wait()
		for range len(ran) {
			b.Errorf("the callback of %s ran beside the workers", <-ran)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if len(ran) != cap(ran) {
			b.Errorf("%d callbacks ran in the end, want %d", len(ran), cap(ran))
		}
	}))
	t.Run("invariant: loop-never-waits: blocked callbacks stop neither renewals nor other callers", specClean(few, func(b *bubble) {
		const queued = 1_000
		unblock := make(chan struct{})
		var running atomic.Int64
		for i := range 2 + queued {
			b.Mutex(fmt.Sprint("stock:", i)).LockAsync(b.Context()).Then(func(h *engine.Hold, err error) {
				running.Add(1)
				<-unblock
				h.UnlockAsync()
			})
		}
		synctest.Wait()
		if n := running.Load(); n != 2 {
			b.Errorf("%d callbacks run, want as many as there are workers", n)
		}
		if held := b.Stats().Held; held != 2+queued {
			b.Errorf("%d locks are held, want %d", held, 2+queued)
		}
		since := time.Now()
		b.unlock(b.lock(b.Mutex("another")))
		if took := time.Since(since); took != 0 {
			b.Errorf("another caller waited for %v", took)
		}

		time.Sleep(49 * time.Millisecond)
		if n := running.Load(); n != 2 {
			b.Errorf("after 49ms %d callbacks run, want as many as there are workers", n)
		}
		time.Sleep(51 * time.Millisecond)
		synctest.Wait()
		if n, stats := running.Load(), b.Stats(); n != 2+queued || stats.Overflowed != queued {
			b.Errorf("after 100ms %d callbacks run and %d overflowed; want all, and %d", n, stats.Overflowed, queued)
		}
		time.Sleep(2 * time.Minute)
		if stats := b.Stats(); stats.Lost != 0 || stats.Held != 2+queued {
			b.Errorf("Stats: lost %d, held %d: renewals stand still", stats.Lost, stats.Held)
		}
		close(unblock)
	}))
	t.Run("invariant: loop-never-waits: the queue drains, and none is dropped", spec(few, func(b *bubble) {
		const queued = 1_000
		unblock := make(chan struct{})
		for range 2 {
			futures.Map(settledBy(b), func(*engine.Hold, error) (int, error) { <-unblock; return 0, nil })
		}
		synctest.Wait()
		var all []*futures.Future[*engine.Hold]
		var ran atomic.Int64
		for range queued {
			all = append(all, settledBy(b).Then(func(*engine.Hold, error) { ran.Add(1) }))
		}
		synctest.Wait()
		if n := ran.Load(); n != 0 {
			b.Errorf("%d callbacks ran without a worker", n)
		}
		close(unblock)
		time.Sleep(100 * time.Millisecond) // past when the extra goroutines would come for those that still wait
		synctest.Wait()
		if n := ran.Load(); n != queued {
			b.Errorf("%d callbacks ran, want %d", n, queued)
		}
		for _, f := range all {
			if !isClosed(f.Done()) {
				b.Fatal("a future of Then has not settled")
			}
		}
		if overflowed := b.Stats().Overflowed; overflowed != 0 {
			b.Errorf("%d overflowed though the queue moved", overflowed)
		}
	}))
	t.Run("a callback that panics disturbs nobody", spec(few, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		errOops := errors.New("oops")
		for range 10 {
			err := testkit.ResultOf(settledBy(b).Then(func(*engine.Hold, error) { panic(errOops) }).Wait(b.Context()))
			var panicked *futures.PanicError
			if !errors.As(err, &panicked) || panicked.Value != errOops || len(panicked.Stack) == 0 {
				b.Errorf("the future of Then has %v, want a PanicError", err)
			}
		}
		var ran atomic.Bool
		b.wantNil("Then", testkit.ResultOf(settledBy(b).Then(func(*engine.Hold, error) { ran.Store(true) }).Wait(b.Context())))
		if !ran.Load() {
			b.Error("the next callback did not run")
		}
		time.Sleep(time.Minute)
		b.wantHeld(h)
	}))
	t.Run("a callback may lock, wait and unlock", specClean(few, func(b *bubble) {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Add(1)
			b.Mutex("stock:7").LockAsync(b.Context()).Then(func(h *engine.Hold, err error) {
				defer wg.Done()
				if err != nil {
					b.Errorf("LockAsync: %v", err)
					return
				}
				inner, err := b.Mutex(fmt.Sprint("part:", i%3)).Lock(b.Context())
				if err != nil {
					b.Errorf("Lock in a callback: %v", err)
					return
				}
				b.wantNil("Unlock in a callback", inner.Unlock(b.Context()))
				b.wantNil("Unlock in a callback", h.Unlock(b.Context()))
			})
		}
		wg.Wait()
	}))
	t.Run("a callback that ends its goroutine frees its worker", spec(few, func(b *bubble) {
		for range 10 {
			err := testkit.ResultOf(settledBy(b).Then(func(*engine.Hold, error) { runtime.Goexit() }).Wait(b.Context()))
			if !errors.Is(err, futures.ErrGoexit) {
				b.Errorf("the future of Then has %v, want ErrGoexit", err)
			}
		}
		b.wantNil("Then", testkit.ResultOf(settledBy(b).Then(func(*engine.Hold, error) {}).Wait(b.Context())))
		if overflowed := b.Stats().Overflowed; overflowed != 0 {
			b.Errorf("%d overflowed though the workers were free", overflowed)
		}
	}))
	t.Run("callbacks that wait for each other go on", spec(few, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		var blocked []*futures.Future[*engine.Hold]
		for range 10 { // five times as many as there are workers
			blocked = append(blocked, settledBy(b).Then(func(*engine.Hold, error) {
				inner, err := b.Mutex("stock:7").Lock(b.Context())
				if err == nil {
					inner.Unlock(b.Context())
				}
			}))
		}
		settledBy(b).Then(func(*engine.Hold, error) { h.Unlock(b.Context()) })
		for _, f := range blocked {
			b.wantNil("Then", testkit.ResultOf(f.Wait(b.Context())))
		}
	}))
	t.Run("callbacks run after Close, too", spec(few, func(b *bubble) {
		future := b.Mutex("stock:7").LockAsync(b.Context())
		unblock := make(chan struct{})
		for range 5 {
			settledBy(b).Then(func(*engine.Hold, error) { <-unblock })
		}
		synctest.Wait()
		b.Close()
		late := future.Then(func(*engine.Hold, error) {})
		close(unblock)
		b.wantNil("Then", testkit.ResultOf(late.Wait(b.Context())))
	}))
}

// settledBy is a future that has its answer already: callbacks on it run as soon as they can.
func settledBy(b *bubble) *futures.Future[*engine.Hold] {
	b.Helper()
	f := b.Mutex("a name for callbacks").LockAsync(b.Context())
	h, err := f.Wait(b.Context())
	if err != nil {
		b.Fatalf("LockAsync: %v", err)
	}
	b.unlock(h)
	return f
}
