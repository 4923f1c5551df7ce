// Package enginetest runs lock engines on a Redis that lives in memory, for the tests of programs that use
// package engine. No server is started and no port is opened.
//
//	e, redis := enginetest.New(t, engine.Options{})
//	hold, err := e.Mutex("stock:7").Lock(t.Context())
//
// The engine is the real one, with its scripts, its watchdog and its unlock messages; only the server is a
// double (server.go). So a test can take locks, let them expire, lose one (Server.Lose) and cut the network
// (Server.SetDown), and see what its own code does about it. Server.Open puts a second engine on the same
// server: another process, as far as the locks are concerned.
//
// Inside a bubble of testing/synctest all of it runs on the bubble's clock: a lease of 30 seconds ends when
// the test has slept for 30 seconds, which takes no time. New must then be called inside, with the bubble's
// T, whose Cleanup runs inside too.
//
// A test that looks for goroutines left behind (go.uber.org/goleak, with VerifyTestMain) needs no exceptions: after Close
// of engine and server none is left. To that end importing this package releases the default pool of package ants
// (github.com/panjf2000/ants), which starts two goroutines for good when it is imported. The engine does not use that
// pool. A program that does, by ants.Submit, calls ants.Reboot in its tests.
//
// What Redis itself decides is copied, not proven: the double is no cluster, has no replicas and no users,
// and persists nothing. It is made for some thousands of locks at a time.
package enginetest

import (
	"context"
	"testing"

	"github.com/panjf2000/ants/v2"

	"github.com/wheellock/wheellock/engine"
)

// init is here and not in package engine: a program may use the default pool, and only a test counts goroutines.
func init() { ants.Release() }

// New starts a server in memory and opens an engine on it. Both are closed when the test and its subtests
// have ended; no goroutine is left then. A test that cannot have them fails at once.
//
// All of opts is honoured but opts.Redis, which is replaced, and opts.PubSub: the server has plain channels only.
func New(t testing.TB, opts engine.Options) (*engine.Engine, *Server) {
	t.Helper()
	s := Start()
	t.Cleanup(s.Close) // last: engines on it are closed before
	e, err := s.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("enginetest: %v", err)
	}
	t.Cleanup(func() { e.Close() })
	return e, s
}

// Open opens one more engine on the server, with opts as in New. Its owner closes it, before the server.
func (s *Server) Open(ctx context.Context, opts engine.Options) (*engine.Engine, error) {
	opts.Redis = s.connection()
	opts.PubSub = engine.PubSubAuto
	return engine.Open(ctx, opts)
}
