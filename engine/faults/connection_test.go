package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A connection that is cut again and again leaves no orphan and strands nobody, and what callers are told is
// in the contract: a Lock waits, a TryLock is taken, not sent or uncertain, an Unlock works or waits.
func TestFaultConnectionCutEvery30ms(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	until := time.Now().Add(testkit.Lasting(t, time.Minute, 5*time.Second))
	enough := testkit.Reached(20, func() int64 { return proxy.Stats().Cut })
	over := func() bool { return time.Now().After(until) && enough() }

	c := newContest(t, server, e, 8, true)
	var tries, refused, granted atomic.Int64
	served := int64(-1)
	stopCutting := testkit.Every(t, 30*time.Millisecond, func() {
		if now := c.grants.Load() + granted.Load(); now != served { // else a busy machine needs longer to get anything through
			served = now
			proxy.Cut()
		}
	})
	var others sync.WaitGroup
	others.Go(func() { // another process takes part, so that waiters depend on messages too
		for n := 0; !over(); n++ {
			name := fmt.Sprintf("contest:%d", n%8)
			if _, taken := outside.Try(name, 10*time.Second); taken {
				outside.Free(name)
			}
			time.Sleep(rand.N(2 * time.Millisecond))
		}
	})
	for i := range 8 {
		others.Go(func() {
			for !over() && !t.Failed() {
				tries.Add(1)
				h, err := e.Mutex(fmt.Sprintf("contest:%d", i)).TryLock(context.Background())
				if err == nil {
					granted.Add(1)
					c.enter(i)
					c.inside[i].Add(-1)
					err = testkit.Patiently(h.Unlock)
				} else if testkit.IsAny(err, engine.ErrHeld, engine.ErrNotSent, engine.ErrUncertain) {
					refused.Add(1)
					err = nil
				}
				if err != nil {
					t.Errorf("try and unlock: %v", err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	c.run(32, over)
	others.Wait()
	stopCutting()
	t.Logf("%d connections cut under %d grants; %d tries, %d granted, %d turned away",
		proxy.Stats().Cut, c.grants.Load(), tries.Load(), granted.Load(), refused.Load())
	if proxy.Stats().Cut < 20 {
		t.Errorf("only %d connections were cut", proxy.Stats().Cut)
	}
	awaitListening(t, server, e, outside)
	testkit.CheckQuiet(t, server, e, 0)
}

// awaitListening returns when an engine hears unlock messages, of everything that it listens to: while its connection
// for them is broken, it would look as if it listened to nothing.
func awaitListening(t *testing.T, server *redistest.Server, e *engine.Engine, outside *testkit.Outsider) {
	t.Helper()
	const name = "listened for"
	outside.Take(name, time.Minute)
	granted := e.Mutex(name).LockAsync(testkit.Soon(t))
	redistest.Await(t, "the engine to listen", func() bool {
		return slices.Contains(server.Subscriptions().Channels, scripts.LockChannel(name))
	})
	outside.Free(name)
	h, err := granted.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatalf("lock %s: %v", name, err)
	}
	testkit.MustUnlock(t, h)
}

// An acquire that reaches Redis after its connection was given up, and after the clean-up for it has passed,
// makes no orphan: the script refuses it when it is late, and it is released again when it is not.
// invariant: late-acquire-does-nothing
func TestFaultAcquireDeliveredAfterItsCleanUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr(), testkit.Lease(time.Second)) // a short lease finds a dead link fast
	const batch = 50
	var worst time.Duration
	for round := range testkit.Times(t, 500, 2*batch) / batch {
		proxy.HoldRequests(redistest.UntilReleased)
		var callers sync.WaitGroup
		for i := range batch {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(100+10*i)*time.Millisecond)
				defer cancel()
				name := fmt.Sprintf("late:%d:%d", round, i)
				if i%2 == 0 { // the key would stand for a day
					_, err := e.Mutex(name).TryLock(testkit.Soon(t), engine.WithLease(24*time.Hour))
					if !testkit.IsAny(err, engine.ErrUncertain, engine.ErrNotSent) {
						t.Errorf("a try without an answer: %v", err)
					}
				} else if _, err := e.Mutex(name).Lock(ctx, engine.WithLease(24*time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a lock without an answer: %v", err)
				}
			})
		}
		callers.Wait()
		proxy.HoldRequests(0) // new connections get through
		redistest.Await(t, "the link to be up", func() bool { return e.Stats().Up })
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("passes"), engine.WithLease(time.Minute))) // and so has what was asked before it
		redistest.Await(t, "the proxy to see that the old connections are given up", func() bool { return proxy.Stats().Left > 0 })
		before := proxy.Stats().LateRequests
		proxy.Release()
		released := time.Now()
		redistest.Await(t, "what was held to be delivered", func() bool { return proxy.Stats().LateRequests > before })
		orphans := len(server.Keys())
		redistest.Await(t, "the orphans to be gone", func() bool { return len(server.Keys()) == 0 })
		gone := time.Since(released)
		worst = max(worst, gone)
		t.Logf("round %d: %d requests came late, %d keys stood then, all gone after %v", round,
			proxy.Stats().LateRequests-before, orphans, gone.Round(time.Millisecond))
	}
	if worst > 5*time.Second {
		t.Errorf("an orphan stood for %v, at most 5s are allowed", worst)
	}
	testkit.CheckQuiet(t, server, e, 0)
}
