package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

func TestSpecCancel(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stop")

	// nothingIsLeft fails the test unless Redis is as if nobody had ever asked.
	nothingIsLeft := func(b *bubble) {
		b.Helper()
		time.Sleep(10 * time.Second)
		b.wantKeys()
		if stats := b.Stats(); stats.Waiting != 0 || stats.Held != 0 {
			b.Errorf("Stats: waiting %d, held %d", stats.Waiting, stats.Held)
		}
	}
	t.Run("Lock returns when its context ends, with its error and its cause", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		waiter.cancel(errStop)
		if waiter.waits() {
			b.Fatal("Lock still waits")
		}
		b.wantIs("Lock", waiter.err, context.Canceled, errStop)
		if waiter.hold != nil {
			b.Error("a Hold and an error")
		}
		b.unlock(h)
		nothingIsLeft(b)
	}))
	t.Run("a context that has ended asks nothing", spec(engine.Options{}, func(b *bubble) {
		ctx, cancel := context.WithCancelCause(b.Context())
		cancel(errStop)
		m := b.Mutex("stock:7")
		for what, err := range map[string]error{
			"Lock":         testkit.ResultOf(m.Lock(ctx)),
			"TryLock":      testkit.ResultOf(m.TryLock(ctx)),
			"LockAsync":    testkit.ResultOf(m.LockAsync(ctx).Wait(b.Context())),
			"TryLockAsync": testkit.ResultOf(m.TryLockAsync(ctx).Wait(b.Context())),
			"Do":           engine.Do(ctx, m, nil),
			"Inspect":      testkit.ResultOf(m.Inspect(ctx)),
			"ForceUnlock":  testkit.ResultOf(m.ForceUnlock(ctx)),
		} {
			b.wantIs(what, err, context.Canceled, errStop)
		}
		if attempts := b.Stats().Attempts; attempts != 0 {
			b.Errorf("Redis was asked %d times", attempts)
		}
	}))
	t.Run("ForceUnlock of the hold whose context it has says that its context has ended", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetLatency(time.Millisecond) // or the answer may be there before the caller looks
		freed, err := b.Mutex("stock:7").ForceUnlock(h.Context(b.Context()))
		b.wantIs("ForceUnlock", err, context.Canceled, engine.ErrLost)
		if freed {
			b.Error("freed, before Redis has answered")
		}
		nothingIsLeft(b)
	}))
	t.Run("a request that is on its way leaves nothing", spec(engine.Options{}, func(b *bubble) {
		for i := range 300 {
			ctx, cancel := context.WithCancel(b.Context())
			for range 3 {
				go func() {
					if h, err := b.Mutex("stock:7").Lock(ctx); err == nil {
						h.Unlock(b.Context())
					}
				}()
			}
			future := b.Mutex("stock:8").LockAsync(ctx)
			for range i % 50 { // somewhere between the call and its answer
				b.Stats()
			}
			cancel()
			if h, err := future.Wait(b.Context()); err == nil {
				h.Unlock(b.Context())
			}
		}
		nothingIsLeft(b)
	}))
	t.Run("a request on its way to a server that goes down leaves nothing", spec(engine.Options{}, func(b *bubble) {
		for range 20 {
			future := b.Mutex("stock:7").LockAsync(b.Context())
			b.redis.SetDown(true)
			future.Cancel()
			if h, err := future.Wait(b.Context()); err == nil {
				h.UnlockAsync()
			}
			time.Sleep(50 * time.Millisecond)
			b.redis.SetDown(false)
			time.Sleep(50 * time.Millisecond)
		}
		nothingIsLeft(b)
	}))
	t.Run("a waiter that goes away does not keep the lock from the next", spec(engine.Options{}, func(b *bubble) {
		theirs := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		first, second := b.queue(b.Mutex("stock:7")), b.queue(b.Mutex("stock:7"))
		first.cancel(errStop)
		synctest.Wait()
		b.unlock(theirs)
		b.unlock(second.granted())
		nothingIsLeft(b)
	}))
	t.Run("the end of a context during NameMapper is the end of the request", spec(engine.Options{}, func(b *bubble) {
		var cancel context.CancelFunc
		mapped := func(name string) string {
			if cancel != nil {
				cancel()
				synctest.Wait()
			}
			return name[1:] // of "x" nothing is left
		}
		e := b.another(engine.Options{NameMapper: mapped})
		for _, name := range []string{"xstock:7", "x"} {
			var ctx context.Context
			ctx, cancel = context.WithCancel(b.Context())
			if _, err := e.Mutex(name).LockAsync(ctx).Wait(context.Background()); err == nil {
				b.Error("LockAsync succeeded")
			}
			synctest.Wait()
		}
		cancel = nil
		if waiting := e.Stats().Waiting; waiting != 0 {
			b.Errorf("Stats().Waiting = %d", waiting)
		}
		h := b.lock(e.Mutex("xstock:7"))
		b.unlock(h)
		nothingIsLeft(b)
	}))
	t.Run("the error of a context may be one that cannot be compared", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx := failsWithMany{b.Context(), make(chan struct{})}
		waits := b.Mutex("stock:7").LockAsync(ctx)
		close(ctx.done)
		for _, err := range []error{testkit.ResultOf(waits.Wait(b.Context())), testkit.ResultOf(b.Mutex("stock:7").Lock(ctx))} {
			if many := manyErrors(nil); !errors.As(err, &many) {
				b.Errorf("%v, want the context's", err)
			}
		}
		b.unlock(h)
		nothingIsLeft(b)
	}))
}

// failsWithMany is a context that ends with several errors at once.
type failsWithMany struct {
	context.Context
	done chan struct{}
}

type manyErrors []error

func (manyErrors) Error() string { return "many errors" }

func (f failsWithMany) Done() <-chan struct{} { return f.done }

func (f failsWithMany) Err() error {
	select {
	case <-f.done:
		return manyErrors{context.Canceled}
	default:
		return nil
	}
}

// endsUnheard is a context that ends without a word: its Done is not closed before the test is over, as that of a deadline whose
// timer is late.
type endsUnheard struct {
	context.Context
	done  chan struct{}
	ended atomic.Bool

	after  int32 // if it is not 0, the context ends when Err has been asked so often
	looked atomic.Int32
	found  func() // is called when somebody finds that it has ended; may be nil
}

func (b *bubble) endsUnheard() *endsUnheard {
	ctx := &endsUnheard{Context: context.Background(), done: make(chan struct{})}
	b.Cleanup(func() { close(ctx.done) })
	return ctx
}

func (e *endsUnheard) Done() <-chan struct{} { return e.done }

func (e *endsUnheard) Err() error {
	if looked := e.looked.Add(1); e.ended.Load() || e.after > 0 && looked > e.after {
		if e.found != nil {
			e.found()
		}
		return context.Canceled
	}
	return nil
}

// invariant: answered-once
func TestSpecGrantUnderAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	eachMutex(t, "goes back at once, whatever the hold was to be", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		other := of(b.another(engine.Options{}), "stock:7")
		b.redis.SetLatency(100 * time.Millisecond)
		for _, opts := range [][]engine.LockOption{nil, {engine.WithLease(time.Hour)}, {engine.WithMinHold(time.Hour)}} {
			ctx := b.endsUnheard()
			time.AfterFunc(60*time.Millisecond, func() { ctx.ended.Store(true) }) // when the command has left
			h, err := of(b.Engine, "stock:7").Lock(ctx, opts...)
			b.wantIs("Lock", err, context.Canceled)
			b.wantIsNot("Lock", err, engine.ErrUnavailable)
			if h != nil {
				b.Fatalf("Lock returned %v beside %v", h, err)
			}
			synctest.Wait()
			if s := b.state("stock:7"); s.Locked && s.OwnerID.Detached {
				b.Fatalf("it stays taken: %+v", s)
			}
			since := time.Now()
			b.unlock(b.lock(other))
			if took := time.Since(since); took > time.Second {
				b.Errorf("with %v the next had it %v later", opts, took)
			}
		}
		b.wantFree("stock:7")
		if stats := b.Stats(); stats.Held != 0 || stats.Waiting != 0 {
			b.Errorf("%+v", stats)
		}
	})
	t.Run("does not reach a waiter under the context of the permit that it waits for", spec(engine.Options{}, func(b *bubble) {
		limit := b.Limit("stock:7", 1)
		for range 20 {
			h, err := limit.Lock(context.Background())
			b.wantNil("Lock", err)
			answer := make(chan error, 1)
			go func() { answer <- testkit.ResultOf(limit.Lock(h.Context(context.Background()))) }()
			synctest.Wait()
			b.unlock(h)
			b.wantIs("Lock", <-answer, context.Canceled, engine.ErrUnlocked)
			synctest.Wait()
			if n, err := b.PermitSemaphore("stock:7").Acquired(context.Background()); n != 0 || err != nil {
				b.Fatalf("%d are taken, %v", n, err)
			}
		}
	}))
	t.Run("of a re-entry leaves the Owner what it has, and the least times of its holds", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("stock:7"), me, engine.WithMinHold(time.Minute))
		ctx := b.endsUnheard()
		b.redis.SetLatency(100 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, func() { ctx.ended.Store(true) })
		_, err := b.Mutex("stock:7").Lock(ctx, me, engine.WithLease(time.Hour)) // which asks for a longer lease
		b.wantIs("Lock", err, context.Canceled)
		b.redis.SetLatency(0)
		synctest.Wait()
		b.wantHeld(h)
		if n := h.Count(); n != 1 {
			b.Errorf("Count = %d", n)
		}
		again := b.endsUnheard()
		again.after = 1                                         // Lock looks before it asks
		again.found = sync.OnceFunc(func() { h.UnlockAsync() }) // so that the re-entry is the last hold
		_, err = b.Mutex("stock:7").Lock(again, me)
		b.wantIs("Lock", err, context.Canceled)
		synctest.Wait()
		if s := b.state("stock:7"); !s.OwnerID.Detached {
			b.Errorf("it is %+v", s)
		}
	}))
	t.Run("goes to the next waiter", spec(engine.Options{}, func(b *bubble) {
		theirs := b.lock(b.another(engine.Options{}).Mutex("stock:7"))
		ctx := b.endsUnheard()
		answer := make(chan error, 1)
		go func() { answer <- testkit.ResultOf(b.Mutex("stock:7").Lock(ctx)) }()
		synctest.Wait()
		next := b.queue(b.Mutex("stock:7"))
		ctx.ended.Store(true)
		b.unlock(theirs)
		b.wantIs("Lock", <-answer, context.Canceled)
		b.unlock(next.wantGrantedNow())
	}))
	t.Run("gives permits back, however often Redis refuses them", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("slots")
		set, err := s.TrySetPermits(b.Context(), 2)
		if !set || err != nil {
			b.Fatal(set, err)
		}
		ctx := b.endsUnheard()
		b.redis.SetLatency(100 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, func() { ctx.ended.Store(true) })
		ctx.found = sync.OnceFunc(func() { // when the permits are here
			for range 3 {
				b.redis.Deny("slots", virtual.NoPermission)
			}
		})
		b.wantIs("Acquire", s.Acquire(ctx, 2), context.Canceled)
		time.Sleep(time.Minute)
		free, err := s.Available(b.Context())
		if free != 2 || err != nil {
			b.Errorf("%d permits are free, %v", free, err)
		}
	}))
	t.Run("is told to an Observer as a failure, and as no hold", func(t *testing.T) {
		var told []string
		spec(engine.Options{Observer: &engine.Observer{
			Granted: func(g engine.Grant) { told = append(told, "granted") },
			Failed:  func(f engine.Failure) { told = append(told, "failed: "+f.Outcome()) },
			Ended:   func(e engine.End) { told = append(told, "ended: "+e.Outcome()) },
		}}, func(b *bubble) {
			ctx := b.endsUnheard()
			b.redis.SetLatency(100 * time.Millisecond)
			time.AfterFunc(60*time.Millisecond, func() { ctx.ended.Store(true) })
			all, err := engine.Multi(b.Mutex("a"), b.Mutex("b"))
			b.wantNil("Multi", err)
			b.wantIs("Lock", testkit.ResultOf(b.Mutex("stock:7").Lock(ctx)), context.Canceled)
			ctx.ended.Store(false)
			time.AfterFunc(60*time.Millisecond, func() { ctx.ended.Store(true) })
			b.wantIs("Lock of several", testkit.ResultOf(all.Lock(ctx)), context.Canceled)
			time.Sleep(time.Minute)
			synctest.Wait()
			if want := []string{"failed: canceled", "failed: canceled"}; !slices.Equal(told, want) {
				b.Errorf("it was told %q, want %q", told, want)
			}
			b.wantKeys()
		})(t)
	})
}

func TestSpecFutureCancel(t *testing.T) {
	t.Parallel()
	t.Run("abandons a waiter", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		future := b.Mutex("stock:7").LockAsync(b.Context())
		next := b.queue(b.Mutex("stock:7"))
		if !future.Cancel() || future.Cancel() {
			b.Error("Cancel of a pending future is true, and then false")
		}
		b.wantIs("Result", testkit.ResultOf(future.Result()), context.Canceled)
		b.unlock(h)
		b.unlock(next.wantGrantedNow())
	}))
	t.Run("of what came from Then and Map abandons the waiter, too", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		future := b.Mutex("stock:7").LockAsync(b.Context())
		called := make(chan error, 1)
		derived := futures.Map(future.Then(func(_ *engine.Hold, err error) { called <- err }),
			func(*engine.Hold, error) (int, error) { return 0, nil })
		derived.Cancel()
		b.wantIs("source", testkit.ResultOf(future.Wait(b.Context())), context.Canceled)
		b.wantIs("callback", <-called, context.Canceled)
		b.unlock(h)
	}))
	t.Run("of All abandons all", specClean(engine.Options{}, func(b *bubble) {
		free := b.Mutex("stock:6").LockAsync(b.Context())
		synctest.Wait()
		h := b.lock(b.Mutex("stock:7"))
		future := b.Mutex("stock:7").LockAsync(b.Context())
		futures.All(free, future).Cancel()
		b.wantIs("pending", testkit.ResultOf(future.Wait(b.Context())), context.Canceled)
		granted, err := free.Wait(b.Context())
		b.wantNil("settled", err)
		b.unlock(granted)
		b.unlock(h)
	}))
	t.Run("is too late for a lock that is held", spec(engine.Options{}, func(b *bubble) {
		future := b.Mutex("stock:7").LockAsync(b.Context())
		synctest.Wait()
		if future.Cancel() {
			b.Error("Cancel of a settled future is true")
		}
		h, err := future.Result()
		b.wantNil("Result", err)
		b.wantHeld(h)
	}))
	t.Run("giving up Wait does not cancel", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		future := b.Mutex("stock:7").LockAsync(b.Context())
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		b.wantIs("Wait", testkit.ResultOf(future.Wait(ctx)), context.DeadlineExceeded)
		b.unlock(h)
		next, err := future.Wait(b.Context())
		b.wantNil("Wait", err)
		b.wantHeld(next)
	}))
}
