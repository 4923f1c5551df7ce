package engine_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
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
}

// TestFencedTokensUnderContention has two engines contend; what is written under a token must never be older
// than what was written before.
func TestFencedTokensUnderContention(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var mu sync.Mutex
	highest, repeated := int64(0), 0
	var wg sync.WaitGroup
	for range 2 {
		e := openAt(t, server.Addr(), patient)
		for range 16 {
			wg.Go(func() {
				for range 100 {
					err := engine.Do(context.Background(), e.FencedMutex("stock:7"), func(_ context.Context, h *engine.Hold) error {
						n := token(t, h)
						mu.Lock()
						defer mu.Unlock()
						if n <= highest {
							repeated++
						}
						highest = n
						return nil
					})
					// What a release gave has a lease of 10 s at most until it is renewed, which a busy machine may miss.
					if err != nil && !testkit.IsAny(err, engine.ErrLost, engine.ErrUncertain) {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if repeated > 0 {
		t.Errorf("%d of 3200 grants had a token not above every earlier one", repeated)
	}
}

// TestFencedTokensAfterLossOfData: INCR would start again at 1 when the server has lost its data.
// invariant: tokens-grow
func TestFencedTokensAfterLossOfData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(time.Second))
	last := int64(0)
	for range 3 {
		h, err := e.FencedMutex("stock:7").Lock(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if n := token(t, h); n <= last {
			t.Fatalf("token %d after %d: it repeats after a restart without data", n, last)
		} else {
			last = n
		}
		server.Kill()
		server.Restart()
		<-h.Done()
	}
}

// TestFencedTokensBesideRedisson has Redisson's INCR come in between.
// invariant: tokens-grow
func TestFencedTokensBesideRedisson(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.FenceTTL = time.Minute })
	last := int64(0)
	for turn := range 10 {
		if turn%2 == 0 {
			n := server.MustDo("INCR", "redisson_lock_token:{stock:7}").Int
			if n <= last {
				t.Fatalf("Redisson's token %d after %d", n, last)
			}
			last = n
			continue
		}
		h, err := e.FencedMutex("stock:7").Lock(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if n := token(t, h); n <= last {
			t.Fatalf("token %d after Redisson's %d", n, last)
		}
		testkit.MustUnlock(t, h)
		last, _ = strconv.ParseInt(server.MustDo("GET", "redisson_lock_token:{stock:7}").Text, 10, 64)
		if ttl := server.MustDo("PTTL", "redisson_lock_token:{stock:7}").Int; ttl <= 0 || ttl > 60_000 {
			t.Errorf("the counter's TTL is %d ms, want FenceTTL, a minute", ttl)
		}
	}
}
