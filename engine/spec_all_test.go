package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecAll(t *testing.T) {
	t.Run("takes many names in few batches", specClean(engine.Options{}, func(b *bubble) {
		names := make([]string, 500)
		for i := range names {
			names[i] = fmt.Sprint("account:", i)
		}
		all, err := b.All(names...)
		b.wantNil("All", err)
		b.redis.SetLatency(time.Millisecond) // time stands still until all 500 are asked for
		before := b.Stats().Batches
		h := b.lock(all)
		if sent := b.Stats().Batches - before; sent > 10 {
			b.Errorf("500 names took %d batches", sent)
		}
		if n := len(b.redis.Keys()); n != 500 {
			b.Errorf("%d keys are taken", n)
		}
		_, err = b.another(engine.Options{}).Mutex("account:499").TryLock(b.Context())
		b.wantIs("TryLock of one", err, engine.ErrHeld)
		b.unlock(h)
	}))
	t.Run("refuses what Multi refuses", spec(engine.Options{}, func(b *bubble) {
		for _, names := range [][]string{{}, {"a", "b", "a"}, {"a", ""}} {
			_, err := b.All(names...)
			b.wantIs(fmt.Sprint(names), err, engine.ErrInvalid)
		}
	}))
	t.Run("waits without goroutines", specAlone(engine.Options{}, func(b *bubble) {
		all, err := b.All("a", "b", "c")
		b.wantNil("All", err)
		taken := b.lock(b.Mutex("b"))
		before := runtime.NumGoroutine()
		for range 100 {
			all.LockAsync(b.Context()).Then(func(h *engine.Hold, err error) {
				if err == nil {
					h.UnlockAsync()
				}
			})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 20 { // callback workers
			b.Errorf("100 waiting calls have %d goroutines", more)
		}
		b.unlock(taken)
		b.unlock(b.lock(all))
	}))
}
