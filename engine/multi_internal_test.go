package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
)

// shortLived is a member whose grants are over before the other members have answered.
type shortLived struct {
	*Mutex
	asked atomic.Int32
}

func (s *shortLived) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	s.asked.Add(1)
	h, err := s.TryLock(ctx, append(opts, WithLease(MinLease))...)
	for err == nil && h.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return futures.Settled(&s.e.callbacks, h, err)
}

// Lock is called when TryLock found the key of the last grant still there. It must not get a long lease either.
func (s *shortLived) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return s.TryLockAsync(ctx, opts...).Result()
}

// Members that are lost while the others are asked are no reason to ask without end, or without pause.
func TestMultiLockWhoseMembersAreLostMeanwhileKeepsItsTime(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), Options{Redis: rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	short := &shortLived{Mutex: e.Mutex("short")}
	m, err := Multi(short, e.Mutex("other"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrUncertain) {
		t.Errorf("TryLock: %v, want ErrUncertain", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	short.asked.Store(0)
	began := time.Now()
	_, err = m.Lock(ctx, WithWait(time.Second))
	if !errors.Is(err, ErrWaitTimeout) || !errors.Is(err, ErrUncertain) || time.Since(began) > 5*time.Second {
		t.Errorf("Lock with a wait of 1s: %v after %v, want ErrWaitTimeout that is ErrUncertain", err, time.Since(began))
	}
	if n := short.asked.Load(); n > 20 {
		t.Errorf("asked %d times within a second", n)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err = m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock with a context that ends: %v", err)
	}
}
