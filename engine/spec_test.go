package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// The spec_*_test.go files say what the engine does as time goes by: each test is a promise of the
// contract or one of its rules. They run in bubbles of testing/synctest on a Redis in memory, so that a day
// takes no time, and "at" means at that nanosecond.

// manyLeases is for specs of what is renewed for as long as it takes: four leases of the default, two of a minute. Each second of it
// costs pings of idle connections.
const manyLeases = 2 * time.Minute

// bubble is one test: an engine on a server of its own.
type bubble struct {
	*testing.T
	*engine.Engine
	redis *virtual.Redis
}

// spec makes a test that runs in a bubble, beside others: what is slow in one does not move the clock of another. Under the race detector
// one of three runs.
func spec(opts engine.Options, test func(b *bubble)) func(*testing.T) {
	alone := specAlone(opts, test)
	return func(t *testing.T) {
		testkit.OneOf(t, 3)
		t.Parallel()
		alone(t)
	}
}

// specClean is spec for a test that leaves no key in Redis.
func specClean(opts engine.Options, test func(b *bubble)) func(*testing.T) {
	return spec(opts, func(b *bubble) {
		test(b)
		b.wantKeys()
	})
}

// specAlone is spec for a test that measures something of the whole process.
func specAlone(opts engine.Options, test func(b *bubble)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, redis := virtual.New(t, opts)
			test(&bubble{t, e, redis})
		})
	}
}

// another opens an engine on the same server: another process, for the locks.
func (b *bubble) another(opts engine.Options) *engine.Engine {
	b.Helper()
	e, err := b.redis.Open(b.Context(), opts)
	if err != nil {
		b.Fatalf("Open: %v", err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// lock takes a lock that must be free.
func (b *bubble) lock(l engine.Locker, opts ...engine.LockOption) *engine.Hold {
	b.Helper()
	h, err := l.Lock(b.Context(), opts...)
	if err != nil || h == nil {
		b.Fatalf("Lock(%s) = %v, %v", l.Name(), h, err)
	}
	return h
}

// queue asks for a lock that is taken, and returns when the request waits.
func (b *bubble) queue(l engine.Locker, opts ...engine.LockOption) *waiting {
	b.Helper()
	w := &waiting{b: b, answered: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(b.Context())
	w.cancel = cancel
	go func() {
		defer close(w.answered)
		w.hold, w.err = l.Lock(ctx, opts...)
		w.at = time.Now()
	}()
	synctest.Wait()
	return w
}

// waiting is a call of Lock on its way.
type waiting struct {
	b        *bubble
	cancel   context.CancelCauseFunc
	answered chan struct{} // closed when it has returned; then:
	hold     *engine.Hold
	err      error
	at       time.Time
}

// waits reports whether it has not returned by now, when everything has happened that can without time.
func (w *waiting) waits() bool {
	synctest.Wait()
	select {
	case <-w.answered:
		return false
	default:
		return true
	}
}

// wantWaiting fails the test when it has returned.
func (w *waiting) wantWaiting() {
	w.b.Helper()
	if !w.waits() {
		w.b.Errorf("Lock has returned: %v, %v", w.hold, w.err)
	}
}

// granted waits until it has the lock.
func (w *waiting) granted() *engine.Hold {
	w.b.Helper()
	<-w.answered
	if w.err != nil {
		w.b.Fatalf("Lock of a waiter: %v", w.err)
	}
	return w.hold
}

// wantGrantedNow fails the test unless it has the lock by now.
func (w *waiting) wantGrantedNow() *engine.Hold {
	w.b.Helper()
	if w.waits() {
		w.b.Fatal("Lock still waits")
	}
	return w.granted()
}

// wantIs fails the test unless err is all of these.
func (b *bubble) wantIs(what string, err error, targets ...error) {
	b.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			b.Errorf("%s: %v, which is not %q", what, err, target)
		}
	}
}

// wantIsNot fails the test when err is one of these.
func (b *bubble) wantIsNot(what string, err error, targets ...error) {
	b.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			b.Errorf("%s: %v, which must not be %q", what, err, target)
		}
	}
}

func (b *bubble) wantNil(what string, err error) {
	b.Helper()
	if err != nil {
		b.Errorf("%s: %v", what, err)
	}
}

// unlock unlocks a hold that must be alive.
func (b *bubble) unlock(h *engine.Hold) {
	b.Helper()
	b.wantNil("Unlock", h.Unlock(b.Context()))
}

// wantHeld fails the test unless h is alive in every way.
func (b *bubble) wantHeld(h *engine.Hold) {
	b.Helper()
	synctest.Wait()
	if err := h.Err(); err != nil || isClosed(h.Done()) {
		b.Errorf("%s should be held: Err %v, Done closed %t", h.Name(), err, isClosed(h.Done()))
	}
}

// wantEnded fails the test unless h has ended in every way, as err says.
func (b *bubble) wantEnded(h *engine.Hold, targets ...error) {
	b.Helper()
	synctest.Wait()
	if !isClosed(h.Done()) {
		b.Errorf("%s should have ended, but Done is open", h.Name())
	}
	if h.Err() == nil {
		b.Errorf("%s should have ended, but Err is nil", h.Name())
	}
	b.wantIs("Err", h.Err(), targets...)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wantKeys fails the test unless these are the keys in Redis.
func (b *bubble) wantKeys(want ...string) {
	b.Helper()
	synctest.Wait()
	if got := b.redis.Keys(); !slices.Equal(got, want) {
		b.Errorf("keys in Redis = %q, want %q", got, want)
	}
}

// ttl is what the lease of a name has left in Redis.
func (b *bubble) ttl(name string) time.Duration {
	b.Helper()
	return b.state(name).TTL
}

func (b *bubble) state(name string) engine.State {
	b.Helper()
	state, err := b.Mutex(name).Inspect(b.Context())
	if errors.Is(err, engine.ErrForeignKey) {
		state, err = b.SimpleMutex(name).Inspect(b.Context())
	}
	if err != nil {
		b.Fatalf("Inspect: %v", err)
	}
	return state
}

func (b *bubble) wantTTL(name string, want time.Duration) {
	b.Helper()
	if got := b.ttl(name); got != want {
		b.Errorf("TTL of %s in Redis = %v, want %v", name, got, want)
	}
}

// sleepUntil sleeps until an instant, and until everything has happened that is due then.
func sleepUntil(at time.Time) {
	time.Sleep(time.Until(at))
	synctest.Wait()
}

// goDown makes the server unreachable and waits until the engine knows.
func (b *bubble) goDown() {
	b.Helper()
	b.redis.SetDown(true)
	b.Mutex("a name to find out").TryLock(b.Context())
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	if b.Stats().Up {
		b.Fatal("Stats().Up while the server is down")
	}
}
