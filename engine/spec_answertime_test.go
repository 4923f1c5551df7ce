package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// What it bounds is in the table of bounds_test.go.
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
	t.Run("the engine goes on releasing", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrUncertain)
		b.wantIs("Err", h.Err(), engine.ErrUnlocked)
		b.wantKeys("stock:7")
		b.redis.SetDown(false)
		time.Sleep(2 * time.Second)
	}))
	t.Run("what Redis refuses meanwhile is told as refused", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.Refuse("READONLY You can't write against a read only replica.", 0)
		var err error
		took(b, "Unlock", time.Second, func() error { err = h.Unlock(b.Context()); return err }, engine.ErrUncertain, engine.ErrRefused)
		testkit.Mentions(b, err, "READONLY")
		b.redis.Refuse("", 0)
		time.Sleep(time.Minute)
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
	t.Run("calls that were given up are not mixed up with later ones", specClean(engine.Options{}, func(b *bubble) {
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
	}))
}
