package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// waitable is a way to wait for something of a kind that another process has.
type waitable struct {
	take  func(b *bubble, e *engine.Engine)                                                // by another process, for a minute
	wait  func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) error     // blocking
	async func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) (w waits) // nil: there is none
	taken string                                                                           // the words
	ttl   bool                                                                             // the end of the lease is known
}

// waits waits for a future.
type waits func() error

func lockable(of func(*engine.Engine) engine.Locker, holding func(*engine.Engine) engine.Locker) waitable {
	return waitable{
		take: func(b *bubble, e *engine.Engine) { b.lock(holding(e), engine.WithLease(time.Minute)) },
		wait: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) error {
			return testkit.ResultOf(of(e).Lock(ctx, opts...))
		},
		async: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) waits {
			f := of(e).LockAsync(ctx, opts...)
			return func() error { return testkit.ResultOf(f.Wait(context.Background())) }
		},
		taken: "held by another owner, lease ends in", ttl: true,
	}
}

// waitables are all kinds.
func waitables() map[string]waitable {
	mutex := func(e *engine.Engine) engine.Locker { return e.Mutex("stock:7") }
	fenced := func(e *engine.Engine) engine.Locker { return e.FencedMutex("stock:7") }
	spin := func(e *engine.Engine) engine.Locker { return e.SpinMutex("stock:7") }
	fair := func(e *engine.Engine) engine.Locker { return e.FairMutex("stock:7") }
	reader := func(e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Reader() }
	writer := func(e *engine.Engine) engine.Locker { return e.RWMutex("stock:7").Writer() }
	multi := func(e *engine.Engine) engine.Locker {
		m, err := engine.Multi(e.Mutex("stock:6"), e.Mutex("stock:7"))
		if err != nil {
			panic(err)
		}
		return m
	}
	quorum := func(e *engine.Engine) engine.Locker {
		q, err := engine.Quorum("stock:7", e)
		if err != nil {
			panic(err)
		}
		return q
	}
	return map[string]waitable{
		"Mutex": lockable(mutex, mutex), "FencedMutex": lockable(fenced, fenced), "SpinMutex": lockable(spin, spin),
		"FairMutex": lockable(fair, fair), "Reader": lockable(reader, writer), "Writer": lockable(writer, reader),
		"Multi": lockable(multi, mutex), "Quorum": lockable(quorum, mutex),
		"Semaphore": {
			take: func(b *bubble, e *engine.Engine) {
				b.wantNil("TrySetPermits", testkit.ResultOf(e.Semaphore("stock:7").TrySetPermits(b.Context(), 0)))
			},
			wait: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) error {
				return e.Semaphore("stock:7").Acquire(ctx, 1, opts...)
			},
			async: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) waits {
				f := e.Semaphore("stock:7").AcquireAsync(ctx, 1, opts...)
				return func() error { return testkit.ResultOf(f.Wait(context.Background())) }
			},
			taken: "too few permits are free",
		},
		"PermitSemaphore": {
			take: func(b *bubble, e *engine.Engine) {
				p := e.PermitSemaphore("stock:7")
				b.wantNil("TrySetPermits", testkit.ResultOf(p.TrySetPermits(b.Context(), 1)))
				b.wantNil("Acquire", testkit.ResultOf(p.Acquire(b.Context(), 1, engine.WithLease(time.Minute))))
			},
			wait: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) error {
				return testkit.ResultOf(e.PermitSemaphore("stock:7").Acquire(ctx, 1, opts...))
			},
			async: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) waits {
				f := e.PermitSemaphore("stock:7").AcquireAsync(ctx, 1, opts...)
				return func() error { return testkit.ResultOf(f.Wait(context.Background())) }
			},
			taken: "too few permits are free, the next lease ends in", ttl: true,
		},
		"CountDownLatch": {
			take: func(b *bubble, e *engine.Engine) {
				b.wantNil("TrySetCount", testkit.ResultOf(e.CountDownLatch("stock:7").TrySetCount(b.Context(), 1)))
			},
			wait: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) error {
				return e.CountDownLatch("stock:7").Wait(ctx, opts...)
			},
			async: func(e *engine.Engine, ctx context.Context, opts ...engine.LockOption) waits {
				f := e.CountDownLatch("stock:7").WaitAsync(ctx, opts...)
				return func() error { return testkit.ResultOf(f.Wait(context.Background())) }
			},
			taken: "it is not open",
		},
	}
}

// ends makes a wait of each kind end after 12 s, in all ways, and has its error checked.
func ends(t *testing.T, prepare func(b *bubble, w waitable), check func(b *bubble, w waitable, err error)) {
	const after = 12 * time.Second
	errStop := errors.New("stop")
	all, wanted := waitables(), some()
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		w := all[kind]
		in := func(way string, wait func(b *bubble) error, ended ...error) {
			if !wanted() {
				return
			}
			t.Run(kind+", "+way, spec(engine.Options{}, func(b *bubble) {
				prepare(b, w)
				err := wait(b)
				b.wantIs("the wait", err, ended...)
				check(b, w, err)
			}))
		}
		withTimeout := func(b *bubble) context.Context {
			ctx, cancel := context.WithTimeoutCause(b.Context(), after, errStop)
			b.Cleanup(cancel)
			return ctx
		}
		in("the end of ctx", func(b *bubble) error { return w.wait(b.Engine, withTimeout(b)) }, context.DeadlineExceeded, errStop)
		in("the end of ctx, Async", func(b *bubble) error { return w.async(b.Engine, withTimeout(b))() }, context.DeadlineExceeded, errStop)
		in("WithWait", func(b *bubble) error { return w.wait(b.Engine, b.Context(), engine.WithWait(after)) }, engine.ErrWaitTimeout)
		in("WithWait, Async", func(b *bubble) error { return w.async(b.Engine, b.Context(), engine.WithWait(after))() }, engine.ErrWaitTimeout)
	}
}

func TestTheErrorOfAWaitSaysWhatWasLastKnown(t *testing.T) {
	t.Parallel()
	t.Run("taken", func(t *testing.T) {
		ends(t, func(b *bubble, w waitable) { w.take(b, b.another(engine.Options{})) }, func(b *bubble, w waitable, err error) {
			b.wantIs("the wait", err, engine.ErrHeld)
			b.wantIsNot("the wait", err, engine.ErrUnavailable)
			if !strings.Contains(err.Error(), w.taken) {
				b.Errorf("the text is %q, want in it %q", err, w.taken)
			}
			var held *engine.HeldError
			if !errors.As(err, &held) || held.Name != "stock:7" {
				b.Fatalf("the error is %#v, want a HeldError for stock:7", err)
			}
			if w.ttl && (held.TTL > 49*time.Second || held.TTL < 47*time.Second) {
				b.Errorf("TTL %v, want what is left of a minute after 12s", held.TTL)
			}
			if !w.ttl && held.TTL >= 0 {
				b.Errorf("TTL %v of what has no end", held.TTL)
			}
		})
	})
	t.Run("no answer", func(t *testing.T) {
		ends(t, func(b *bubble, w waitable) { b.goDown() }, func(b *bubble, w waitable, err error) {
			b.wantIs("the wait", err, engine.ErrUnavailable)
			b.wantIsNot("the wait", err, engine.ErrHeld)
		})
	})
	t.Run("held by this process", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		ctx, cancel := context.WithTimeout(b.Context(), 12*time.Second)
		defer cancel()
		_, err := b.Mutex("stock:7").Lock(ctx)
		var held *engine.HeldError
		if !errors.As(err, &held) || held.TTL != time.Until(h.Deadline()) {
			b.Errorf("%v, want a HeldError with %v", err, time.Until(h.Deadline()))
		}
		if want := `wheellock: lock "stock:7": context deadline exceeded: held by another owner, lease ends in 47.4s`; err.Error() != want {
			b.Errorf("the text is %q, want %q", err, want)
		}
	}))
	t.Run("a key without an end", spec(engine.Options{}, func(b *bubble) {
		b.redis.Do("HSET", "stock:7", "somebody:1", "1")
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		defer cancel()
		_, err := b.Mutex("stock:7").Lock(ctx)
		var held *engine.HeldError
		if !errors.As(err, &held) || held.TTL >= 0 || !strings.Contains(err.Error(), "held by another owner, without an end that is known") {
			b.Errorf("%v, want a HeldError with a negative TTL", err)
		}
	}))
}

// A wait that ends in the moment of its grant is either: a hold, or an error and nothing held. None is left over.
// invariant: answered-once
func TestAWaitThatEndsInTheMomentOfItsGrantLeavesNothing(t *testing.T) {
	t.Parallel()
	e, redis := enginetest.New(t, engine.Options{})
	other, err := redis.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	granted, ended := 0, 0
	for i := range 400 {
		theirs, err := other.Mutex("stock:7").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		go func() {
			h, err := e.Mutex("stock:7").Lock(ctx)
			if err == nil {
				err = testkit.Patiently(h.Unlock)
			}
			answer <- err
		}()
		unlocked := theirs.UnlockAsync()
		if i%2 == 0 {
			e.Stats()
		}
		cancel()
		if err := <-answer; err == nil {
			granted++
		} else if errors.Is(err, context.Canceled) {
			ended++
		} else {
			t.Fatalf("Lock and Unlock: %v", err)
		}
		if _, err := unlocked.Wait(t.Context()); err != nil {
			t.Fatalf("Unlock of the other: %v", err)
		}
	}
	t.Logf("%d were granted, %d ended", granted, ended)
	h, err := other.Mutex("stock:7").Lock(t.Context(), engine.WithWait(5*time.Second))
	if err != nil {
		t.Fatalf("the name is not free in the end: %v", err)
	}
	h.Unlock(t.Context())
	if s := e.Stats(); s.Waiting != 0 || s.Held != 0 {
		t.Errorf("waiting %d, held %d", s.Waiting, s.Held)
	}
}
