package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// The words of EveryOutcome.
var (
	RequestOutcomes = []string{"granted", "reentry", "closed", "invalid", "canceled", "overloaded", "refused", "unavailable", "wait_timeout", "held", "gone"}
	HoldOutcomes    = []string{"unlocked", "max_hold", "closed", "lost"}
)

// EveryOutcome has requests and holds end in every way for which an Observer has a word, but "failed". Its observer is that of e,
// an engine with otherwise default options on the server, which nobody else may use. An engine beside e, with other options, has
// the same observer.
func EveryOutcome(tb testing.TB, s *redistest.Server, e *engine.Engine, observer *engine.Observer) {
	tb.Helper()
	beside := Connect(tb, s.Addr(), func(o *engine.Options) {
		o.Observer, o.MaxHold, o.MaxWaitersPerName = observer, 50*time.Millisecond, 1
	})
	want := func(err, sentinel error) {
		tb.Helper()
		if !IsAny(err, sentinel) {
			tb.Fatalf("%v, want %v", err, sentinel)
		}
	}
	m, me := e.Mutex("taken"), engine.WithOwner(engine.NewOwner())
	taken := MustLock(tb, m, me)
	MustUnlock(tb, MustLock(tb, m, me))
	want(ResultOf(m.TryLock(Soon(tb))), engine.ErrHeld)
	want(ResultOf(m.Lock(Soon(tb), engine.WithWait(time.Millisecond))), engine.ErrWaitTimeout)
	want(ResultOf(e.Mutex("").Lock(Soon(tb))), engine.ErrInvalid)
	want(ResultOf(e.Mutex("free").Adopt(Soon(tb), "nobody")), engine.ErrLost)

	waiter := beside.Mutex("taken").LockAsync(Soon(tb))
	want(ResultOf(beside.Mutex("taken").Lock(Soon(tb))), engine.ErrOverloaded)
	waiter.Cancel()
	want(ResultOf(waiter.Result()), context.Canceled)

	s.MustDo("CONFIG", "SET", "min-replicas-to-write", "1")
	want(ResultOf(e.Mutex("refused").TryLock(Soon(tb))), engine.ErrRefused)
	s.MustDo("CONFIG", "SET", "min-replicas-to-write", "0")

	s.Freeze()
	short, cancel := context.WithTimeout(tb.Context(), time.Second)
	defer cancel()
	want(ResultOf(e.Mutex("frozen").TryLock(short)), engine.ErrUnavailable)
	s.Thaw()

	MustUnlock(tb, taken)
	want(MustEnd(tb, MustLock(tb, e.Mutex("short"), engine.WithLease(time.Second))), engine.ErrLost)
	want(MustEnd(tb, MustLock(tb, beside.Mutex("long"))), engine.ErrMaxHold)
	closed := MustLock(tb, beside.Mutex("kept"), engine.WithLease(time.Minute))
	if err := beside.Close(); err != nil {
		tb.Fatal(err)
	}
	want(MustEnd(tb, closed), engine.ErrClosed)
	want(ResultOf(beside.Mutex("kept").Lock(Soon(tb))), engine.ErrClosed)
}
