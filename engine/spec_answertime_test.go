package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// calling is one call that waits for an answer of Redis, on a name of its own.
type calling struct {
	what string
	call func(ctx context.Context) error
}

// answered are the calls of every kind that AnswerTimeout bounds, once all is prepared that they need.
func answered(tb testing.TB, e *engine.Engine) (all []calling) {
	add := func(what string, call func(ctx context.Context) error) { all = append(all, calling{what, call}) }
	mustHave := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	multi := func(name string) engine.Locker {
		m, err := engine.Multi(e.Mutex(name+"1"), e.Mutex(name+"2"))
		mustHave(err)
		return m
	}
	for kind, lock := range map[string]func(name string) engine.Locker{
		"Mutex": func(name string) engine.Locker { return e.Mutex(name) }, "FencedMutex": func(name string) engine.Locker { return e.FencedMutex(name) },
		"SpinMutex": func(name string) engine.Locker { return e.SpinMutex(name) }, "SimpleMutex": func(name string) engine.Locker { return e.SimpleMutex(name) }, "FairMutex": func(name string) engine.Locker { return e.FairMutex(name) },
		"Reader": func(name string) engine.Locker { return e.RWMutex(name).Reader() }, "Writer": func(name string) engine.Locker { return e.RWMutex(name).Writer() },
		"Multi": multi,
	} {
		h := testkit.MustLock(tb, lock(kind+":held"))
		fixed := testkit.MustLock(tb, lock(kind+":fixed"), engine.WithLease(20*time.Second))
		add(kind+".TryLock", func(ctx context.Context) error { return testkit.ResultOf(lock(kind + ":free").TryLock(ctx)) })
		add(kind+".TryLockAsync", func(ctx context.Context) error {
			return testkit.ResultOf(lock(kind + ":free too").TryLockAsync(ctx).Wait(context.Background()))
		})
		add(kind+" Unlock", h.Unlock)
		add(kind+" Extend", func(ctx context.Context) error { return fixed.Extend(ctx, time.Hour) })
	}
	testkit.MustLock(tb, e.Mutex("forced"))
	add("ForceUnlock", func(ctx context.Context) error { return testkit.ResultOf(e.Mutex("forced").ForceUnlock(ctx)) })
	add("Inspect", func(ctx context.Context) error { return testkit.ResultOf(e.Mutex("forced").Inspect(ctx)) })

	s, p, l := e.Semaphore("semaphore"), e.PermitSemaphore("permits"), e.CountDownLatch("latch")
	mustHave(testkit.ResultOf(s.TrySetPermits(testkit.Soon(tb), 10)))
	mustHave(testkit.ResultOf(p.TrySetPermits(testkit.Soon(tb), 10)))
	mustHave(testkit.ResultOf(l.TrySetCount(testkit.Soon(tb), 10)))
	held, err := p.Acquire(testkit.Soon(tb), 2)
	mustHave(err)
	other, err := p.Acquire(testkit.Soon(tb), 1, engine.WithLease(20*time.Second))
	mustHave(err)
	add("Semaphore.TryAcquire", func(ctx context.Context) error { return e.Semaphore("another").TryAcquire(ctx, 1) })
	add("Semaphore.Release", func(ctx context.Context) error { return s.Release(ctx, 1) })
	add("Semaphore.Available", func(ctx context.Context) error { return testkit.ResultOf(s.Available(ctx)) })
	add("PermitSemaphore.TryAcquire", func(ctx context.Context) error { return testkit.ResultOf(e.PermitSemaphore("more").TryAcquire(ctx, 1)) })
	add("PermitSemaphore.Release", func(ctx context.Context) error { return p.Release(ctx, held.PermitIDs()...) })
	add("PermitSemaphore Unlock", other.Unlock)
	add("CountDownLatch.CountDown", l.CountDown)
	add("CountDownLatch.Count", func(ctx context.Context) error { return testkit.ResultOf(l.Count(ctx)) })
	return all
}

func TestFaultAFrozenServerKeepsNobodyForLongerThanAnswerTimeout(t *testing.T) {
	const bound = 300 * time.Millisecond
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.AnswerTimeout = bound })
	calls := answered(t, e)
	server.Freeze()
	thaw := time.AfterFunc(8*time.Second, server.Thaw) // before the connection is given up
	defer thaw.Stop()
	type result struct {
		what string
		took time.Duration
		err  error
	}
	results := make(chan result, len(calls))
	for _, c := range calls {
		go func() {
			since := time.Now()
			err := c.call(context.Background())
			results <- result{c.what, time.Since(since), err}
		}()
	}
	for range calls {
		r := <-results
		if !errors.Is(r.err, engine.ErrUncertain) {
			t.Errorf("%s: %v, want ErrUncertain", r.what, r.err)
		}
		if twice := 2 * bound; r.took < bound || r.took > twice+testkit.Patience/10 {
			t.Errorf("%s took %v, want %v", r.what, r.took, bound)
		}
	}
	if thaw.Stop() {
		server.Thaw()
	}
	redistest.Await(t, "everything to be freed that is not held", func() bool {
		n := server.MustDo("EXISTS", "Mutex:free", "Mutex:free too", "Mutex:held", "FencedMutex:free", "FencedMutex:held", "FairMutex:free", "FairMutex:held",
			"SpinMutex:free", "SpinMutex:held", "Reader:free", "Reader:held", "Writer:free", "Writer:held", "Multi:free1", "Multi:held1", "Multi:held2").Int
		return n == 0
	})
}

func TestSpecAnswerTimeout(t *testing.T) {
	t.Parallel()
	const late = 25 * time.Millisecond
	took := func(b *bubble, what string, want time.Duration, call func() error, targets ...error) {
		b.Helper()
		since := time.Now()
		b.wantIs(what, call(), targets...)
		if took := time.Since(since); took < want || took > want+late {
			b.Errorf("%s took %v, want %v", what, took, want)
		}
	}
	for lease, want := range map[time.Duration]time.Duration{30 * time.Second: time.Second, 900 * time.Millisecond: 300 * time.Millisecond} {
		t.Run(fmt.Sprint("is a second, or a third of the lease: ", lease), spec(engine.Options{Lease: lease}, func(b *bubble) {
			h := b.lock(b.Mutex("stock:7"))
			b.goDown()
			took(b, "Unlock", want, func() error { return h.Unlock(b.Context()) }, engine.ErrUncertain)
		}))
	}
	t.Run("a deadline of the caller counts", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		defer cancel()
		took(b, "Unlock", 5*time.Second, func() error { return h.Unlock(ctx) }, engine.ErrUncertain, context.DeadlineExceeded)
	}))
	t.Run("is at most the Deadline", spec(engine.Options{AnswerTimeout: time.Minute}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		took(b, "Unlock", time.Until(h.Deadline()), func() error { return h.Unlock(b.Context()) }, engine.ErrUncertain)
	}))
	t.Run("none: as long as it takes", spec(engine.Options{AnswerTimeout: -1}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		took(b, "Unlock", time.Until(h.Deadline()), func() error { return h.Unlock(b.Context()) }, engine.ErrUncertain)
	}))
	t.Run("the engine goes on releasing", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrUncertain)
		b.wantIs("Err", h.Err(), engine.ErrUnlocked)
		b.wantKeys("stock:7")
		b.redis.SetDown(false)
		time.Sleep(2 * time.Second)
		b.wantKeys()
	}))
	t.Run("UnlockAsync waits for the answer", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		unlocked := h.UnlockAsync()
		time.Sleep(10 * time.Second)
		b.redis.SetDown(false)
		b.wantNil("UnlockAsync", testkit.ResultOf(unlocked.Wait(b.Context())))
		h = b.lock(b.Mutex("stock:7"))
		b.goDown()
		err := testkit.ResultOf(h.UnlockAsync().Wait(b.Context()))
		b.wantIs("UnlockAsync without an answer", err, engine.ErrUncertain)
		testkit.Mentions(b, err, "unlock", "stock:7")
	}))
	t.Run("calls that were given up are not mixed up with later ones", spec(engine.Options{}, func(b *bubble) {
		for i := range 20 {
			h := b.lock(b.Mutex("stock:7"))
			b.goDown()
			b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrUncertain)
			b.redis.SetDown(false)
			if i%2 == 0 {
				synctest.Wait()
			}
			for range 10 {
				b.unlock(b.lock(b.Mutex("stock:8")))
			}
			time.Sleep(2 * time.Second)
		}
		b.wantKeys()
	}))
}
