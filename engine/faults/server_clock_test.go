package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Invariant: an acquire that arrives after its last clean-up takes nothing. What the engine knows of the server's clock
// must never be ahead of the truth, however long the question for it took:
//
//  1. TIME takes 1.4 s to the server; its answer comes at once.
//  2. An acquire is held up in the network for 2.5 s; the engine has released its owner id twice by then.
//  3. It is delivered, and must be refused as too late.
//
// invariant: late-acquire-does-nothing
func TestLateAcquireTakesNothingAfterASlowReadingOfTheClock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	for began := time.Now(); time.Since(began) < 9900*time.Millisecond; time.Sleep(100 * time.Millisecond) {
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("busy"))) // keeps a connection; every 10 s one asks for the time
	}
	time.Sleep(300 * time.Millisecond)
	proxy.Latency(redistest.ClientToServer, 1400*time.Millisecond, 0)
	warm := testkit.MustLock(t, e.Mutex("asks for the time"))
	proxy.Latency(redistest.ClientToServer, 0, 0)
	testkit.MustUnlock(t, warm)

	redistest.Await(t, "the link to be up", func() bool { return e.Stats().Up }) // 1.4 s and a busy machine may have ended it
	proxy.HoldRequests(redistest.UntilReleased)
	before := proxy.Stats().WaitingToServer
	sent := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if h, err := e.Mutex("late").TryLock(context.Background()); err == nil {
			t.Errorf("granted: %v", h)
		}
	}()
	redistest.Await(t, "the acquire to be held up", func() bool { return proxy.Stats().WaitingToServer > before+100 }) // a PING is shorter
	proxy.HoldRequests(0)                                                                                              // what follows, on other connections, is not held up
	<-done
	time.Sleep(time.Until(sent.Add(2500 * time.Millisecond)))
	proxy.Release()
	time.Sleep(500 * time.Millisecond)
	if o := testkit.Owners(server, "late"); len(o) > 0 {
		t.Errorf("taken after the last clean-up by %q, which nobody stands for, for another %v", o, server.MustDo("PTTL", "late"))
	}
}
