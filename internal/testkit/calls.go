package testkit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// Patience bounds what must happen some time: far over what an idle machine needs.
const Patience = 30 * time.Second

// Soon is a context that ends after patience, or with the test.
func Soon(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	tb.Cleanup(cancel)
	return ctx
}

// Receive waits for what a channel gives, or for its end, and fails the test with what after Patience.
func Receive[T any](tb testing.TB, what string, from <-chan T) (got T) {
	tb.Helper()
	select {
	case got = <-from:
	case <-time.After(Patience):
		tb.Fatalf("still waiting after %v for: %s", Patience, what)
	}
	return got
}

// Patiently makes a call that is to be answered some time. Its deadline counts in place of AnswerTimeout, a second: on a
// busy machine the link may be away for longer.
func Patiently(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return call(ctx)
}

// Must ends the test if a call that has to succeed has failed.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// WantIs fails the test unless the error of a call is that one.
func WantIs(tb testing.TB, call string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: %v, want %v", call, err, want)
	}
}

// MustWait waits for a future that has to succeed.
func MustWait[T any](tb testing.TB, f *futures.Future[T]) T {
	tb.Helper()
	v, err := f.Wait(Soon(tb))
	Must(tb, err)
	return v
}

// MustLock takes a lock.
func MustLock(tb testing.TB, l engine.Locker, opts ...engine.LockOption) *engine.Hold {
	tb.Helper()
	h, err := l.Lock(Soon(tb), opts...)
	if err != nil {
		tb.Fatalf("lock %s: %v", l.Name(), err)
	}
	return h
}

// MustUnlock gives it back.
func MustUnlock(tb testing.TB, h *engine.Hold) {
	tb.Helper()
	if err := h.Unlock(Soon(tb)); err != nil {
		tb.Fatalf("unlock %s: %v", h.Name(), err)
	}
}

// MustEnd waits until a hold has ended and returns why.
func MustEnd(tb testing.TB, h *engine.Hold) error {
	tb.Helper()
	Receive(tb, "the end of the hold of "+h.Name(), h.Done())
	return h.Err()
}

// Ended reports whether a hold has told so.
func Ended(h *engine.Hold) bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

// LockMany takes so many locks, all at once.
func LockMany(t *testing.T, e *engine.Engine, room string, n int) []*engine.Hold {
	t.Helper()
	asked := make([]*futures.Future[*engine.Hold], n)
	for i := range asked {
		asked[i] = e.Mutex(Name24(room, i)).LockAsync(t.Context())
	}
	holds := make([]*engine.Hold, n)
	for i, f := range asked {
		h, err := f.Wait(t.Context()) // MustWait makes a context each time, and would be counted in engine/scale
		Must(t, err)
		holds[i] = h
	}
	return holds
}

// Multi is several locks as one.
func Multi(t testing.TB, locks ...engine.Locker) *engine.MultiLock {
	t.Helper()
	m, err := engine.Multi(locks...)
	Must(t, err)
	return m
}

// ResultOf is the error of a call.
func ResultOf[T any](_ T, err error) error { return err }

// Name24 is a name of 24 bytes.
func Name24(room string, i int) string { return fmt.Sprintf("%s:%0*d", room, 23-len(room), i) }

// LongName is a name of so many bytes.
func LongName(bytes int) string { return strings.Repeat("n", bytes) }
