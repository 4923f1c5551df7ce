package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// lazy is a context of a user that package engine knows nothing about.
type lazy struct{ context.Context }

func TestSpecSelfWait(t *testing.T) {
	t.Parallel()
	deadlock := func(b *bubble, what string, err error) {
		b.Helper()
		if !errors.Is(err, engine.ErrDeadlock) || !strings.Contains(err.Error(), "WithOwner") {
			b.Errorf("%s: %v, want ErrDeadlock that names WithOwner", what, err)
		}
	}
	t.Run("tells a call at once that waits for the hold of its own context", spec(engine.Options{}, func(b *bubble) {
		began := time.Now()
		for _, m := range []*engine.Mutex{b.Mutex("a"), b.FencedMutex("b"), b.SpinMutex("c"), b.SimpleMutex("d"), b.FairMutex("e"), b.RWMutex("f").Writer()} {
			for _, how := range [][]engine.LockOption{nil, {engine.WithOwner(engine.NewOwner())}} {
				h := b.lock(m, how...)
				bounded, stop := context.WithTimeout(context.WithValue(h.Context(b.Context()), lazy{}, 1), time.Hour)
				other := b.lock(b.Mutex("another"))
				inside := other.Context(bounded)
				_, err := m.Lock(inside)
				deadlock(b, m.String(), err)
				_, err = m.LockAsync(lazy{inside}, engine.WithOwner(engine.NewOwner())).Wait(b.Context())
				deadlock(b, m.String()+" of another Owner, under a context of a user", err)
				deadlock(b, "Do", engine.Do(inside, m, nil))
				if _, err = m.TryLock(inside); !errors.Is(err, engine.ErrHeld) {
					b.Errorf("TryLock: %v, want ErrHeld", err)
				}
				b.unlock(h)
				b.unlock(other)
				stop()
			}
		}
		if took := time.Since(began); took >= time.Second {
			b.Errorf("it took %v", took)
		}
	}))
	t.Run("tells it of locks of several", spec(engine.Options{}, func(b *bubble) {
		both, err := b.All("a", "b")
		quorum, err2 := engine.Quorum("q", b.Engine)
		if err != nil || err2 != nil {
			b.Fatal(err, err2)
		}
		of := func(l engine.Locker) context.Context { return b.lock(l).Context(b.Context()) }
		_, err = quorum.Lock(of(quorum))
		deadlock(b, "a quorum", err)
		all := of(both)
		for _, l := range []engine.Locker{b.Mutex("b"), both} {
			_, err := l.Lock(all)
			deadlock(b, "under both: "+l.Name(), err)
		}
		more, _ := engine.Multi(b.Mutex("x"), both)
		_, err = more.Lock(all)
		deadlock(b, "a lock of locks", err)
		b.wantFree("x")
	}))
	t.Run("lets calls wait that may be granted", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("a"), me)
		inside := h.Context(b.Context())
		under := func(ctx context.Context, l engine.Locker, opts ...engine.LockOption) {
			b.Helper()
			h, err := l.Lock(ctx, opts...)
			if err != nil {
				b.Fatalf("Lock: %v", err)
			}
			b.unlock(h)
		}
		under(inside, b.Mutex("a"), me)
		under(inside, b.Mutex("b"))
		reading := b.lock(b.RWMutex("rw").Reader()).Context(b.Context())
		under(reading, b.RWMutex("rw").Reader())
		_, err := b.RWMutex("rw").Writer().Lock(reading)
		deadlock(b, "a writer under a reader", err)
		if _, err = b.another(engine.Options{}).Mutex("a").Lock(inside, engine.WithWait(time.Second)); !errors.Is(err, engine.ErrWaitTimeout) {
			b.Errorf("by another engine: %v, want ErrWaitTimeout", err)
		}
		// These contexts last longer than the hold.
		lasting, stop := context.WithTimeout(context.WithoutCancel(inside), time.Hour)
		defer stop()
		var waiters []*futures.Future[*engine.Hold]
		for _, ctx := range []context.Context{context.WithoutCancel(inside), lasting, lasted{inside}} {
			waiters = append(waiters, b.Mutex("a").LockAsync(ctx))
		}
		time.Sleep(time.Second)
		b.unlock(h)
		for _, w := range waiters {
			h, err := w.Wait(b.Context())
			if err != nil {
				b.Fatalf("it could have been granted: %v", err)
			}
			b.unlock(h)
		}
	}))
	t.Run("lets a call ask again when the hold has ended", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("a"))
		inside := h.Context(b.Context())
		b.unlock(h)
		if _, err := b.Mutex("a").Lock(inside); !errors.Is(err, engine.ErrUnlocked) || errors.Is(err, engine.ErrDeadlock) {
			b.Errorf("under a context that has ended: %v, want ErrUnlocked", err)
		}
		b.unlock(b.lock(b.Mutex("a")))
	}))
}

// lasted is a context of a user that does not end.
type lasted struct{ context.Context }

func (lasted) Done() <-chan struct{} { return nil }
func (lasted) Err() error            { return nil }
