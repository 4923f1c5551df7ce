package engine

import (
	"context"
	"errors"
	"slices"
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
	h, err := s.TryLock(ctx, append(opts, WithLease(MinLease))...)
	return futures.Settled(&s.e.callbacks, s.spent(h, err), err)
}

// LockAsync is called when TryLock found the key of the last grant still there.
func (s *shortLived) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	h, err := s.Lock(ctx, append(opts, WithLease(MinLease))...)
	return futures.Settled(&s.e.callbacks, s.spent(h, err), err)
}

// spent returns a hold when it is over.
func (s *shortLived) spent(h *Hold, err error) *Hold {
	s.asked.Add(1)
	if err == nil {
		<-h.Done()
	}
	return h
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
	// Held by the key of its last grant; unavailable, when a busy machine has not answered since.
	last := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrHeld)
	if !errors.Is(err, ErrWaitTimeout) || !last || time.Since(began) > 5*time.Second {
		t.Errorf("Lock with a wait of 1s: %v after %v, want ErrWaitTimeout that is ErrUnavailable or ErrHeld", err, time.Since(began))
	}
	if n := short.asked.Load(); n > 70 { // from the seventh on a pause is 16 ms or longer
		t.Errorf("asked %d times within a second", n)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err = m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock with a context that ends: %v", err)
	}
}

// MultiLocks wait for the locks that they have in common in one order, however these are named, or keep each other waiting.
// invariant: multi-all-or-nothing
func TestMultiLocksHaveTheirMembersInOneOrder(t *testing.T) {
	t.Parallel()
	var engines []*Engine
	for range 2 {
		e, err := Open(t.Context(), Options{Redis: rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		engines = append(engines, e)
	}
	a, b := engines[0], engines[1]
	multi := func(locks ...Locker) *MultiLock {
		m, err := Multi(locks...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	order := func(m *MultiLock) []lockKey {
		keys, err := m.keys()
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	one := order(multi(a.Mutex("x"), b.Mutex("x"), a.Mutex("y"), a.Mutex("z")))
	for what, m := range map[string]*MultiLock{
		"named otherwise":   multi(a.Mutex("z"), a.Mutex("y"), b.Mutex("x"), a.Mutex("x")),
		"with a nested one": multi(multi(a.Mutex("x"), a.Mutex("z")), a.Mutex("y"), b.Mutex("x")),
	} {
		if got := order(m); !slices.Equal(got, one) {
			t.Errorf("%s: they stand otherwise", what)
		}
	}
}
