package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// What it says of each kind is in the table of bounds_test.go.
func TestTheErrorOfAWaitSaysWhatWasLastKnown(t *testing.T) {
	t.Parallel()
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
	testkit.Must(t, err)
	defer other.Close()
	granted, ended := 0, 0
	for i := range 100 {
		theirs, err := other.Mutex("stock:7").Lock(t.Context())
		testkit.Must(t, err)
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
