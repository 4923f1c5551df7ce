package engine_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

func TestSpecClose(t *testing.T) {
	t.Parallel()
	t.Run("ends holds with ErrLost and ErrClosed, and frees their keys", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		holds := []*engine.Hold{
			b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me),
			b.lock(b.Mutex("stock:8"), engine.WithLease(time.Hour)),
		}
		since := time.Now()
		b.wantNil("Close", b.Close())
		b.wantKeys()
		for _, h := range holds {
			b.wantEnded(h, engine.ErrLost, engine.ErrClosed)
			err := h.Unlock(b.Context())
			b.wantIs("Unlock", err, engine.ErrLost, engine.ErrClosed)
			testkit.Mentions(b, err, ": lock lost while held: engine closed")
			b.wantIs("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(b.Context())), engine.ErrClosed)
		}
		if took := time.Since(since); took != 0 {
			b.Errorf("it took %v", took)
		}
	}))
	t.Run("settles waiters with ErrClosed", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		b.lock(b.another(engine.Options{}).Mutex("stock:8"))
		queue := []*waiting{b.queue(b.Mutex("stock:7")), b.queue(b.Mutex("stock:8"))}
		future := b.Mutex("stock:7").LockAsync(b.Context())
		b.Close()
		for _, w := range queue {
			if w.waits() {
				b.Fatal("a waiter still waits")
			}
			b.wantIs("Lock", w.err, engine.ErrClosed)
			b.wantIsNot("Lock", w.err, engine.ErrLost)
		}
		b.wantIs("LockAsync", testkit.ResultOf(future.Wait(b.Context())), engine.ErrClosed)
		b.wantKeys("stock:8")
	}))
	t.Run("settles who waits for Redis to come back", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		queue := []*waiting{b.queue(b.Mutex("stock:7")), b.queue(b.Mutex("stock:8"))}
		since := time.Now()
		b.wantNil("Close", b.Close())
		if took := time.Since(since); took > 4*time.Second {
			b.Errorf("it took %v", took)
		}
		b.wantEnded(h, engine.ErrLost, engine.ErrClosed)
		for _, w := range queue {
			b.wantIs("Lock", w.err, engine.ErrClosed)
		}
	}))
	t.Run("lets the waiters of other processes in", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"))
		theirs := b.queue(b.another(engine.Options{}).Mutex("stock:7"))
		b.Close()
		theirs.granted()
	}))
	t.Run("may be repeated, also at the same time", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		returned := make(chan error, 10)
		for range cap(returned) {
			go func() {
				err := b.Close()
				b.wantIs("Err when Close returns", h.Err(), engine.ErrClosed) // to every one of them
				returned <- err
			}()
		}
		synctest.Wait()
		for range cap(returned) {
			b.wantNil("Close", <-returned)
		}
		b.wantNil("Close", b.Close())
	}))
	t.Run("makes all later calls fail with ErrClosed", spec(engine.Options{}, func(b *bubble) {
		ctx, m := b.Context(), b.Mutex("stock:7")
		fixed := b.lock(m, engine.WithLease(time.Hour))
		b.Close()
		for what, err := range map[string]error{
			"Lock":         testkit.ResultOf(m.Lock(ctx)),
			"TryLock":      testkit.ResultOf(m.TryLock(ctx)),
			"LockAsync":    testkit.ResultOf(m.LockAsync(ctx).Wait(ctx)),
			"TryLockAsync": testkit.ResultOf(m.TryLockAsync(ctx).Wait(ctx)),
			"Inspect":      testkit.ResultOf(m.Inspect(ctx)),
			"ForceUnlock":  testkit.ResultOf(m.ForceUnlock(ctx)),
			"Extend":       fixed.Extend(ctx, 2*time.Hour),
			"Do":           engine.Do(ctx, m, nil),
		} {
			b.wantIs(what, err, engine.ErrClosed)
		}
		if stats := b.Stats(); stats.Held != 0 || stats.Waiting != 0 || stats.OldestHold != 0 {
			b.Errorf("Stats: %+v", stats)
		}
		b.wantNil("Shutdown", b.Shutdown(ctx))
	}))
	t.Run("leaves nothing of requests that are on their way", spec(engine.Options{}, func(b *bubble) {
		for range 25 {
			e := b.another(engine.Options{})
			for range 20 {
				e.Mutex("stock:7").LockAsync(b.Context())
				e.Mutex("stock:8").LockAsync(b.Context())
			}
			e.Close()
			b.wantKeys()
		}
	}))
}

// A Dialer may have any time-out, as that of a go-redis client, which is 5 s by default; and a function of the user may never return.
func TestCloseWaitsForNobodyWhoDials(t *testing.T) {
	t.Parallel()
	type dial = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)
	for what, hang := range map[string]func(o *engine.Options, dial dial, hangs func()){
		"a long time-out": func(o *engine.Options, _ dial, _ func()) { o.Redis.Dialer.Timeout = time.Minute },
		"AuthCredentialsFn": func(o *engine.Options, _ dial, hangs func()) {
			o.Redis.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
				hangs()
				return rueidis.AuthCredentials{}, nil
			}
		},
		"DialCtxFn": func(o *engine.Options, dial dial, hangs func()) {
			o.Redis.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
				hangs()
				return dial(ctx, addr, d, c)
			}
		},
		"DialFn": func(o *engine.Options, dial dial, hangs func()) {
			o.Redis.DialCtxFn = nil
			o.Redis.DialFn = func(addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
				hangs()
				return dial(context.Background(), addr, d, c)
			}
		},
	} {
		virtual.Test(t, func(w *virtual.World) {
			var hangs atomic.Bool
			e, link := w.Connect(func(o *engine.Options) {
				hang(o, o.Redis.DialCtxFn, func() {
					if hangs.Load() {
						time.Sleep(time.Minute)
					}
				})
			})
			waits := e.Mutex("stock:7").LockAsync(w.T.Context())
			if _, err := waits.Wait(w.T.Context()); err != nil {
				w.T.Fatal(err)
			}
			queued := e.Mutex("stock:7").LockAsync(w.T.Context())
			hangs.Store(true)
			if what == "a long time-out" {
				link.Silence(time.Now().Add(time.Hour))
			}
			link.Cut()
			time.Sleep(time.Second)
			go e.Mutex("another").Inspect(w.T.Context())
			began := time.Now()
			e.Close()
			if took := time.Since(began); took > 5*time.Second {
				w.T.Errorf("%s: Close took %v", what, took)
			}
			if _, err := queued.Result(); !errors.Is(err, engine.ErrClosed) {
				w.T.Errorf("%s: a waiter: %v, want ErrClosed", what, err)
			}
			link.Mend(func() time.Duration { return 0 })
			time.Sleep(time.Minute) // until the function returns
		})
	}
}

func TestSpecShutdown(t *testing.T) {
	t.Parallel()
	// shutDown calls Shutdown on the side, and returns what becomes of it when it waits.
	shutDown := func(b *bubble, ctx context.Context) <-chan error {
		returned := make(chan error, 1)
		go func() { returned <- b.Shutdown(ctx) }()
		synctest.Wait()
		return returned
	}
	wantPending := func(b *bubble, returned <-chan error) {
		b.Helper()
		synctest.Wait()
		if len(returned) > 0 {
			b.Fatalf("Shutdown has returned: %v", <-returned)
		}
	}
	t.Run("waits until every hold is unlocked, and renews them meanwhile", specClean(engine.Options{}, func(b *bubble) {
		first, second := b.lock(b.Mutex("stock:7")), b.lock(b.Mutex("stock:8"))
		returned := shutDown(b, b.Context())
		time.Sleep(5 * time.Minute)
		b.wantHeld(first)
		b.wantHeld(second)
		b.unlock(first)
		wantPending(b, returned)
		b.unlock(second)
		b.wantNil("Shutdown", <-returned)
	}))
	t.Run("returns at once when nothing is held", spec(engine.Options{}, func(b *bubble) {
		b.unlock(b.lock(b.Mutex("stock:7")))
		since := time.Now()
		b.wantNil("Shutdown", b.Shutdown(b.Context()))
		if took := time.Since(since); took != 0 {
			b.Errorf("it took %v", took)
		}
	}))
	t.Run("turns waiters and new requests away", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		waiter := b.queue(b.Mutex("stock:7"))
		returned := shutDown(b, b.Context())
		if waiter.waits() {
			b.Error("a waiter still waits")
		}
		b.wantIs("Lock of a waiter", waiter.err, engine.ErrClosed)
		b.wantIs("Lock", testkit.ResultOf(b.Mutex("stock:9").Lock(b.Context())), engine.ErrClosed)
		b.unlock(h)
		b.wantNil("Shutdown", <-returned)
	}))
	t.Run("waits for holds that end by themselves", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Minute))
		b.wantNil("Shutdown", b.Shutdown(b.Context()))
		if now := time.Now(); now.Before(h.Deadline()) || now.After(h.Deadline().Add(time.Second)) {
			b.Errorf("it returned %v after the deadline", now.Sub(h.Deadline()))
		}
		b.wantEnded(h, engine.ErrLost)
		b.wantIsNot("Err", h.Err(), engine.ErrClosed)
	}))
	t.Run("closes when its context ends", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		since := time.Now()
		b.wantIs("Shutdown", b.Shutdown(ctx), context.DeadlineExceeded)
		if took := time.Since(since); took != time.Minute {
			b.Errorf("it took %v", took)
		}
		b.wantEnded(h, engine.ErrClosed, engine.ErrLost)
	}))
	t.Run("is no error under a context that has ended, if nothing is held", spec(engine.Options{}, func(b *bubble) {
		ended, cancel := context.WithCancel(b.Context())
		cancel()
		held := b.another(engine.Options{})
		h := b.lock(held.Mutex("stock:7"))
		b.wantIs("Shutdown with a hold", held.Shutdown(ended), context.Canceled)
		b.wantEnded(h, engine.ErrClosed, engine.ErrLost)
		b.unlock(b.lock(b.Mutex("stock:7")))
		waiter := b.Mutex("stock:8").LockAsync(ended)
		b.wantNil("Shutdown without", b.Shutdown(ended))
		b.wantIs("LockAsync", testkit.ResultOf(waiter.Wait(b.Context())), context.Canceled)
		b.wantNil("Shutdown again", b.Shutdown(ended))
	}))
	t.Run("may be called more than once", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		first, second := shutDown(b, b.Context()), shutDown(b, b.Context())
		wantPending(b, first)
		wantPending(b, second)
		b.unlock(h)
		b.wantNil("Shutdown", <-first)
		b.wantNil("Shutdown", <-second)
		b.wantNil("Shutdown", b.Shutdown(b.Context()))
	}))
	t.Run("ends when Close is called meanwhile", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		first, second := shutDown(b, b.Context()), shutDown(b, b.Context())
		b.wantNil("Close", b.Close())
		b.wantNil("Shutdown", <-first)
		b.wantNil("Shutdown", <-second)
		b.wantEnded(h, engine.ErrClosed)
	}))
}
