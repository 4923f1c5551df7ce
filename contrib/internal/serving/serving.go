// Package serving has what the middlewares share (contrib/httplock, contrib/grpclock, contrib/idempotency): a request takes a lock, is served
// under it, and gives it back.
package serving

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// unlockTime is how long an answer waits until the lock is free, so that a client that has its answer may ask again.
const unlockTime = 100 * time.Millisecond

// Take takes a lock, or waits for it that long; opts are for the wait.
func Take(ctx context.Context, l engine.Locker, wait time.Duration, opts ...engine.LockOption) (*engine.Hold, error) {
	if wait == 0 {
		return l.TryLock(ctx)
	}
	return l.Lock(ctx, append(opts, engine.WithWait(wait))...)
}

// Times are how long requests took lately, on average. Any goroutine may use them.
type Times struct{ took atomic.Int64 }

// Serve runs serve, which serves a request under a hold, and then gives the hold back, also if serve panics. ctx is that of the request.
func (t *Times) Serve(ctx context.Context, hold *engine.Hold, serve func()) {
	began := time.Now()
	defer func() {
		t.note(time.Since(began))
		// The engine goes on by itself where this fails; that a lock was lost, the handler knows from its context.
		soon, stop := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
		defer stop()
		_ = hold.Unlock(soon)
	}()
	serve()
}

// note counts how long a request took, as an eighth of the average.
func (t *Times) note(took time.Duration) {
	average := cmp.Or(time.Duration(t.took.Load()), took)
	t.took.Store(int64(average + (took-average)/8)) // of two at once, one may be forgotten
}

// Free is when the lock may be free again for which a call failed with err: when a request takes its usual time, or a second if that is not
// known, at the latest at the end of the lease.
func (t *Times) Free(err error) time.Duration {
	usual := cmp.Or(time.Duration(t.took.Load()), time.Second)
	if held := (*engine.HeldError)(nil); errors.As(err, &held) && held.TTL > 0 {
		return min(usual, held.TTL)
	}
	return usual
}

// IsOutage reports whether a call under ctx failed with err because Redis cannot serve, and not because too many wait here.
func IsOutage(ctx context.Context, err error) bool {
	return errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, engine.ErrOverloaded) && ctx.Err() == nil
}

// Here counts the requests of each key that are served without Redis. Any goroutine may use it; the zero value is ready.
type Here struct {
	mu sync.Mutex // guards in
	in map[string]int
}

// ComeIn counts one more request of a key. False: there are that many.
func (h *Here) ComeIn(key string, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.in[key] >= most {
		return false
	}
	if h.in == nil {
		h.in = make(map[string]int)
	}
	h.in[key]++
	return true
}

// Leave is the end of a request that came in.
func (h *Here) Leave(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.in[key]--; h.in[key] == 0 {
		delete(h.in, key)
	}
}
