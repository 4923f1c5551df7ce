// Package enginetest runs lock engines on an in-memory Redis, for the tests of programs that use package engine. It
// starts no server and opens no port.
//
//	e, redis := enginetest.New(t, engine.Options{})
//	hold, err := e.Mutex("stock:7").Lock(t.Context())
//
// The engine is the real one, with its scripts, its watchdog and its unlock messages. Only the server is an emulation
// (server.go). A test can take locks, let them expire, and check what its own code does when
//
//   - somebody else has the lock: [Server.Occupy];
//   - the key is deleted while the lock is held: [Server.Lose];
//   - Redis cannot be reached: [Server.SetDown];
//   - Redis is slow: [Server.SetLatency];
//   - one call fails, because Redis is out of memory, because a right is missing, or because the connection broke before
//     the answer: [Server.FailNext], or for a renewal or an unlock alone [Server.FailNextRenewal] and
//     [Server.FailNextUnlock].
//
// [Server.Open] opens a second engine on the same server, which counts as another process.
//
// Inside a bubble of testing/synctest everything runs on the bubble's clock: a lease of 30 seconds ends when the test
// has slept for 30 seconds, which takes no real time. Call New inside the bubble, with the bubble's T, whose Cleanup
// also runs inside. If the engine was opened outside, the program ends with
//
//	fatal error: send on synctest channel from outside bubble
//
// and with the T or the context of the test around the bubble it ends with a similar error: close, or select, instead of
// send.
//
// A test that checks for leaked goroutines (go.uber.org/goleak, with VerifyTestMain) needs no exceptions: none is left
// after the engine and the server are closed. For that, importing this package releases the default pool of package
// ants (github.com/panjf2000/ants), which starts two permanent goroutines when it is imported, as package engine does.
// Tests that run the engine on a real Redis need a blank import of this package for that. The engine does not use that
// pool. A program that uses it, by ants.Submit, calls ants.Reboot in its tests.
//
// A hold that is dropped without Unlock is told: engines here have [engine.TellForgotten] unless their options say [engine.ReleaseForgotten].
// An engine of New logs it, with the place of its Lock, by the test's Log. It is found when the garbage collector has run and the hold is
// renewed after that, so a test of it calls runtime.GC and sleeps for a lease, in a bubble, until Observer.Forgotten is called. A test does not
// fail because of a hold that it leaves to Close, which is common.
//
// The emulation is no proof of what Redis itself decides: it has no cluster, replicas or users, and persists nothing.
// It is made for some thousands of locks at a time.
package enginetest

import (
	"cmp"
	"context"
	"sync"
	"testing"

	"github.com/panjf2000/ants/v2"

	"github.com/wheellock/wheellock/engine"
)

// init is here and not in package engine: a program may use the default pool, and only a test counts goroutines.
func init() { ants.Release() }

// New starts an in-memory server and opens an engine on it. Both are closed when the test and its subtests have ended,
// and no goroutine is left then. If either fails, the test fails at once.
//
// New honours all of opts except opts.Redis, which it replaces, and opts.PubSub, because the server has only plain
// channels. The server has neither replicas nor a disk: [engine.AllReplicas] is met, with opts.Replicas over 0
// nothing is granted, and with opts.Fsync New fails. With opts.WatchLoss an engine is told of [Server.Lose] at once; that
// another engine has forced an unlock it finds out by its next renewal.
func New(t testing.TB, opts engine.Options) (*engine.Engine, *Server) {
	t.Helper()
	s := Start()
	t.Cleanup(s.Close) // last: engines on it are closed before
	told := &log{t: t}
	opts.Observer = engine.Observers(opts.Observer, &engine.Observer{Forgotten: told.forgotten})
	e, err := s.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("enginetest: %v", err)
	}
	t.Cleanup(func() { e.Close() })
	t.Cleanup(told.end)
	return e, s
}

// log is that of a test, until the test has ended: later it would panic.
type log struct {
	mu sync.Mutex // guards t; held while it logs
	t  testing.TB // nil: it has ended
}

func (l *log) forgotten(f engine.Forgotten) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t != nil {
		l.t.Logf("enginetest: the hold of the %s %q was forgotten after %v: it was asked for at %s", f.Kind, f.Name, f.Held, f.Where)
	}
}

func (l *log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = nil
}

// Open opens one more engine on the server, with opts as in New. The caller closes it, before the server. Errors are
// those of [engine.Open].
func (s *Server) Open(ctx context.Context, opts engine.Options) (*engine.Engine, error) {
	opts.Redis = s.connection()
	opts.PubSub = engine.PubSubAuto
	opts.OnForgotten = cmp.Or(opts.OnForgotten, engine.TellForgotten)
	return engine.Open(ctx, opts)
}
