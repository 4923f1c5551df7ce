package engine_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// askAsEveryKind asks once for a lock of each kind, and gives back what it got.
func askAsEveryKind(b *bubble, e *engine.Engine, name string) map[string]error {
	errs := make(map[string]error)
	for kind, l := range map[string]engine.Locker{
		"Mutex": e.Mutex(name), "FairMutex": e.FairMutex(name), "FencedMutex": e.FencedMutex(name), "SpinMutex": e.SpinMutex(name), "SimpleMutex": e.SimpleMutex(name),
		"Reader": e.RWMutex(name).Reader(), "Writer": e.RWMutex(name).Writer(),
	} {
		h, err := l.TryLock(b.Context())
		if errs[kind] = err; err == nil {
			b.unlock(h)
		}
	}
	errs["Semaphore"] = testkit.ResultOf(e.Semaphore(name).Available(b.Context()))
	errs["PermitSemaphore"] = testkit.ResultOf(e.PermitSemaphore(name).Available(b.Context()))
	errs["CountDownLatch"] = testkit.ResultOf(e.CountDownLatch(name).Count(b.Context()))
	errs["TrySetPermits"] = testkit.ResultOf(e.Semaphore(name).TrySetPermits(b.Context(), 1))
	errs["TrySetCount"] = testkit.ResultOf(e.CountDownLatch(name).TrySetCount(b.Context(), 1))
	errs["Inspect"] = testkit.ResultOf(e.Mutex(name).Inspect(b.Context()))
	errs["ForceUnlock"] = testkit.ResultOf(e.Mutex(name).ForceUnlock(b.Context()))
	return errs
}

// invariant: one-kind-per-name
func TestSpecNames(t *testing.T) {
	t.Parallel()
	t.Run("a name that is a key of another name is ErrInvalid", spec(engine.Options{}, func(b *bubble) {
		held := b.lock(b.FencedMutex("stock"))
		for _, name := range []string{
			scripts.TokenKey("stock"), scripts.FairQueue("stock"), scripts.FairDeadlines("{stock}:7"), scripts.FairAlive("stock"),
			scripts.ReceiptKey("stock", "uuid"), "{stock}:uuid:7:rwlock_timeout:1", "redisson_unlock_latch:{stock}:0123",
		} {
			for kind, err := range askAsEveryKind(b, b.Engine, name) {
				b.wantIs(kind+" "+name, err, engine.ErrInvalid)
			}
		}
		b.wantKeys(scripts.TokenKey("stock"), "stock")
		b.unlock(held)
	}))
	t.Run("but not what NameMapper makes another name of", spec(engine.Options{NameMapper: func(name string) string { return "app:" + name }}, func(b *bubble) {
		b.unlock(b.lock(b.Mutex(scripts.TokenKey("stock"))))
	}))
	t.Run("a lock where another name's permits are is ErrForeignKey, whoever came first", spec(engine.Options{}, func(b *bubble) {
		permits := b.PermitSemaphore("stock")
		b.wantNil("TrySetPermits", testkit.ResultOf(permits.TrySetPermits(b.Context(), 1)))
		held, err := permits.Acquire(b.Context(), 1)
		b.wantNil("Acquire", err)
		errs := askAsEveryKind(b, b.another(engine.Options{}), "{stock}:timeout")
		delete(errs, "Inspect")
		delete(errs, "ForceUnlock") // it finds nothing to free
		for kind, err := range errs {
			b.wantIs(kind, err, engine.ErrForeignKey)
		}
		b.unlock(held)
		lock := b.lock(b.Mutex("{stock}:timeout"))
		b.wantIs("Acquire", testkit.ResultOf(permits.TryAcquire(b.Context(), 1)), engine.ErrForeignKey)
		b.unlock(lock)
		held, err = permits.Acquire(b.Context(), 1)
		b.wantNil("Acquire", err)
		b.unlock(held)
	}))
	t.Run("permits called a and {a} have the same keys: the second is ErrInvalid while the first lives", spec(engine.Options{}, func(b *bubble) {
		plain, braced := b.PermitSemaphore("stock"), b.PermitSemaphore("{stock}")
		b.wantNil("TrySetPermits", testkit.ResultOf(plain.TrySetPermits(b.Context(), 1)))
		held, err := plain.Acquire(b.Context(), 1, engine.WithLease(time.Minute))
		b.wantNil("Acquire", err)
		for what, err := range map[string]error{
			"TrySetPermits": testkit.ResultOf(braced.TrySetPermits(b.Context(), 1)),
			"TryAcquire":    testkit.ResultOf(braced.TryAcquire(b.Context(), 1)),
			"AcquireAsync":  testkit.ResultOf(braced.AcquireAsync(b.Context(), 1).Wait(b.Context())),
		} {
			b.wantIs(what, err, engine.ErrInvalid)
		}
		b.unlock(held)
		time.Sleep(time.Minute)
		b.wantNil("TrySetPermits of the other", testkit.ResultOf(braced.TrySetPermits(b.Context(), 1)))
		held, err = braced.Acquire(b.Context(), 1)
		b.wantNil("Acquire of the other", err)
		b.wantIs("TryAcquire", testkit.ResultOf(plain.TryAcquire(b.Context(), 1)), engine.ErrInvalid)
		b.unlock(held)
	}))
	t.Run("fair mutexes called a and {a} would stand in one queue", spec(engine.Options{}, func(b *bubble) {
		held := b.lock(b.FairMutex("{stock}"))
		b.wantIs("TryLock", testkit.ResultOf(b.FairMutex("stock").TryLock(b.Context())), engine.ErrInvalid)
		b.unlock(held)
	}))
	t.Run("other kinds may be called a and {a} at the same time", spec(engine.Options{}, func(b *bubble) {
		for _, kind := range []func(string) *engine.Mutex{b.Mutex, b.FencedMutex, b.SpinMutex} {
			plain, braced := b.lock(kind("stock")), b.lock(kind("{stock}"))
			b.unlock(plain)
			b.unlock(braced)
		}
		held := b.lock(b.FairMutex("stock"))
		permits := b.PermitSemaphore("{stock}")
		b.wantNil("TrySetPermits", testkit.ResultOf(permits.TrySetPermits(b.Context(), 1)))
		b.unlock(held)
	}))
}
