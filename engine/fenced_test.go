package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func token(t testing.TB, h *engine.Hold) int64 {
	t.Helper()
	n, fenced := h.Token()
	if !fenced || n <= 0 {
		t.Fatalf("Token() = %d, %t, want a fencing token", n, fenced)
	}
	return n
}

// invariant: tokens-grow
func TestFencedTokens(t *testing.T) {
	t.Parallel()
	t.Run("a plain mutex has none", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		if _, fenced := h.Token(); fenced {
			b.T.Error("a plain mutex has a token")
		}
		b.unlock(h)
	}))
	t.Run("grow from owner to owner, and are in the counter that Redisson reads", spec(engine.Options{}, func(b *bubble) {
		m := b.FencedMutex("stock:7")
		last := int64(0)
		for range 5 {
			h := b.lock(m)
			if n := token(b.T, h); n <= last {
				b.T.Errorf("token %d after %d", n, last)
			} else {
				last = n
			}
			b.unlock(h)
			time.Sleep(time.Second)
		}
		state, err := m.Inspect(context.Background())
		b.wantNil("Inspect", err)
		if state.Token < last {
			b.T.Errorf("the counter stands at %d, below the token %d", state.Token, last)
		}
	}))
	t.Run("are kept by re-entry", spec(engine.Options{}, func(b *bubble) {
		m, me := b.FencedMutex("stock:7"), engine.NewOwner()
		outer := b.lock(m, engine.WithOwner(me))
		inner := b.lock(m, engine.WithOwner(me))
		if token(b.T, outer) != token(b.T, inner) {
			b.T.Errorf("re-entry changed the token from %d to %d", token(b.T, outer), token(b.T, inner))
		}
		b.unlock(inner)
		b.unlock(outer)
	}))
	t.Run("differ from handoff to handoff, also past the block of a tenure", spec(engine.Options{}, func(b *bubble) {
		m := b.FencedMutex("stock:7")
		h := b.lock(m)
		var queue []*waiting
		for range 200 {
			queue = append(queue, b.queue(m))
		}
		last := token(b.T, h)
		for _, w := range queue {
			b.unlock(h)
			h = w.granted()
			if n := token(b.T, h); n <= last {
				b.T.Fatalf("token %d after %d", n, last)
			} else {
				last = n
			}
		}
		b.unlock(h)
	}))
	t.Run("grow also past a loss of all data, after which INCR would begin with 1", spec(engine.Options{}, func(b *bubble) {
		last := int64(0)
		for range 3 {
			h := b.lock(b.FencedMutex("stock:7"))
			if n := token(b.T, h); n <= last {
				b.T.Fatalf("token %d after %d", n, last)
			} else {
				last = n
			}
			for _, key := range b.redis.Keys() {
				b.redis.Lose(key)
			}
			<-h.Done()
		}
	}))
	t.Run("grow beside the INCR of Redisson, and the counter lives for FenceTTL", spec(engine.Options{FenceTTL: time.Minute}, func(b *bubble) {
		const counter = "redisson_lock_token:{stock:7}"
		for range 5 {
			theirs := b.redis.Do("INCR", counter).Int
			h := b.lock(b.FencedMutex("stock:7"))
			if n := token(b.T, h); n <= theirs {
				b.T.Fatalf("token %d after Redisson's %d", n, theirs)
			}
			b.unlock(h)
			if next := b.redis.Do("INCR", counter).Int; next <= token(b.T, h) {
				b.T.Fatalf("Redisson's token %d after %d", next, token(b.T, h))
			}
			if ttl := b.redis.Do("PTTL", counter).Int; ttl <= 0 || ttl > 60_000 {
				b.Errorf("the counter's TTL is %d ms, want FenceTTL, a minute", ttl)
			}
		}
	}))
}
