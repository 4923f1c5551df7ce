package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// Waiters of other processes get in by asking, and not a message is heard.
func TestSpinMutexWaitsAndTries(t *testing.T) {
	t.Parallel()
	t.Run("like a mutex", spec(engine.Options{}, func(b *bubble) {
		m := b.SpinMutex("stock:7")
		other := b.another(engine.Options{})
		h := b.lock(m)
		_, err := other.SpinMutex("stock:7").TryLock(context.Background())
		b.wantIs("TryLock of a held lock", err, engine.ErrHeld)
		_, err = other.SpinMutex("stock:7").Lock(context.Background(), engine.WithWait(time.Second))
		b.wantIs("Lock of a held lock", err, engine.ErrWaitTimeout, engine.ErrHeld)
		waiter := b.queue(other.SpinMutex("stock:7"))
		if heard := b.redis.Subscriptions(); len(heard) > 0 {
			b.Errorf("somebody listens to %q", heard)
		}
		b.unlock(h)
		time.Sleep(200 * time.Millisecond) // the longest sleep between questions is 128 ms
		waiter.wantGrantedNow()
		b.unlock(waiter.granted())
		if _, err := b.Mutex("stock:7").TryLock(context.Background()); err != nil && !errors.Is(err, engine.ErrInvalid) {
			b.T.Errorf("a mutex of the same name: %v", err)
		}
	}))
}
