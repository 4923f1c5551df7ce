package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// hot is 64 callers who lock and unlock one name as fast as they can, until stop, or an error, or the end of the test:
// they leave before its engine is closed.
func hot(t *testing.T, e *engine.Engine) (grants *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	grants = new(atomic.Int64)
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for ctx.Err() == nil {
				h, err := e.Mutex("hot").Lock(ctx)
				if err == nil {
					grants.Add(1)
					err = testkit.Patiently(h.Unlock)
				}
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("a hot caller: %v", err)
					}
					return
				}
			}
		})
	}
	stop = func() { cancel(); callers.Wait() }
	t.Cleanup(stop)
	redistest.Await(t, "a name that is hot", func() bool { return grants.Load() > 1000 })
	return grants, stop
}

// visit has the outsider get the hot name again and again by Redisson's plain protocol: it listens, and asks
// when it hears something. It returns how often it got it and how long that took at worst.
func visit(o *testkit.Outsider, runs time.Duration) (times int, longest time.Duration) {
	heard, unsubscribe := o.Listen("hot")
	defer unsubscribe()
	began := time.Now()
	for last := began; time.Since(began) < runs; {
		if _, taken := o.Try("hot", 30*time.Second); taken {
			times++
			o.Free("hot")
			time.Sleep(2 * time.Millisecond) // the callers take it back meanwhile
			longest, last = max(longest, time.Since(last)), time.Now()
			continue
		}
		select {
		case <-heard:
		case <-time.After(30 * time.Second): // the lease: so long it would wait
		}
	}
	return times, longest
}

// However hot a name is inside a process, another one that waits for it gets it ten times a second at least
// on a machine that has nothing else to do; one that is busy gets twice the time.
// invariant: others-get-a-turn
func TestFaultHandoffStarvesNobody(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	t.Run("near by", func(t *testing.T) {
		grants, stop := hot(t, e)
		defer stop()
		runs, before := testkit.Lasting(t, time.Minute, 2*time.Second), grants.Load()
		times, longest := visit(testkit.NewOutsider(t, server.Addr()), runs)
		t.Logf("in %v the other process got in %d times, after %v at worst; %d grants inside", runs, times, longest.Round(time.Millisecond), grants.Load()-before)
		if times < int(runs/(200*time.Millisecond)) {
			t.Errorf("the other process got in %d times in %v", times, runs)
		}
	})
	t.Run("far away", func(t *testing.T) { // one that needs 60 ms to answer a message
		proxy := redistest.NewProxy(t, server.Addr())
		proxy.Latency(redistest.Both, 30*time.Millisecond, 0)
		grants, stop := hot(t, e)
		defer stop()
		runs, before := testkit.Lasting(t, time.Minute, 5*time.Second), grants.Load()
		times, longest := visit(testkit.NewOutsider(t, proxy.Addr()), runs)
		t.Logf("in %v the other process got in %d times, after %v at worst; %d grants inside", runs, times, longest.Round(time.Millisecond), grants.Load()-before)
		if times < int(runs/(4*time.Second)) {
			t.Errorf("the other process got in %d times in %v", times, runs)
		}
	})
	testkit.CheckQuiet(t, server, e, 0)
}

// A waiter that goes away in the moment in which the name is passed on to it does not keep it from the next.
func TestFaultCancelledWaiterSwallowsNoHandoff(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	m := e.Mutex("passed")
	granted, cancelled := 0, 0
	for round := range testkit.Times(t, 20_000, 1000) {
		var h *engine.Hold
		if fromOutside := round%8 == 0; fromOutside {
			outside.Take("passed", time.Hour)
		} else {
			h = testkit.MustLock(t, m)
		}
		first, second := m.LockAsync(context.Background()), m.LockAsync(context.Background())
		if h == nil && round%16 == 0 { // or else they are caught on their way
			redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
		}
		var race sync.WaitGroup
		race.Go(func() {
			spin(rand.N(20 * time.Microsecond))
			if h == nil {
				outside.Free("passed")
			} else {
				h.UnlockAsync()
			}
		})
		race.Go(func() {
			spin(rand.N(20 * time.Microsecond))
			first.Cancel()
		})
		race.Wait()
		if h, err := first.Wait(testkit.Soon(t)); err == nil {
			granted++
			testkit.MustUnlock(t, h)
		} else if errors.Is(err, context.Canceled) {
			cancelled++
		} else {
			t.Fatalf("the first waiter: %v", err)
		}
		mustGet(t, second)
	}
	t.Logf("of the first waiters %d were granted and %d went away", granted, cancelled)
	if granted == 0 || cancelled == 0 {
		t.Error("there was no race")
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// spin lets a few microseconds pass, which sleep cannot.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// lifeOf tells whether an owner has a name, and what the lease has left, at one moment.
var lifeOf = rueidis.NewLuaScript(`return {redis.call('HEXISTS', KEYS[1], ARGV[1]), redis.call('PTTL', KEYS[1])}`)

// However a name is passed on, between whatever leases: no hold believes to last longer than its key.
// invariant: hold-within-tenure
func TestFaultNoHoldOutlivesItsLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Lease, o.HandoffTime = 2*time.Second, 20*time.Millisecond })
	outside := testkit.NewOutsider(t, server.Addr())
	until := time.Now().Add(testkit.Lasting(t, time.Minute, 5*time.Second))
	var checked, ended atomic.Int64
	check := func(h *engine.Hold) {
		deadline := h.Deadline()
		life, err := lifeOf.Exec(context.Background(), outside.Client, []string{h.Name()}, []string{h.TenureID()}).AsIntSlice()
		if err != nil {
			t.Errorf("looking at %s: %v", h.Name(), err)
			return
		}
		now := time.Now()
		if life[0] == 0 {
			if h.Err() == nil && time.Now().Before(deadline) {
				t.Errorf("%s: %s does not have it, and believes to until %v from now", h.Name(), h.TenureID(), deadline.Sub(now))
			}
			ended.Add(1)
			return
		}
		if left := time.Duration(life[1]+1) * time.Millisecond; deadline.After(now.Add(left)) { // PTTL cuts
			t.Errorf("%s: the hold lasts for %v, its key for %v", h.Name(), deadline.Sub(now), left)
		}
		checked.Add(1)
	}
	var callers sync.WaitGroup
	for i := range 12 {
		callers.Go(func() {
			m := e.Mutex(fmt.Sprintf("leased:%d", i%3))
			for time.Now().Before(until) && !t.Failed() {
				var opts []engine.LockOption
				if rand.IntN(2) == 0 {
					opts = append(opts, engine.WithLease(time.Duration(50+rand.IntN(3000))*time.Millisecond))
				}
				ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
				h, err := m.Lock(ctx, opts...)
				if err != nil {
					t.Errorf("lock: %v", err)
				} else {
					for range rand.IntN(4) {
						check(h)
						time.Sleep(rand.N(30 * time.Millisecond))
					}
					if opts != nil && rand.IntN(3) == 0 {
						if err := h.Extend(ctx, time.Duration(100+rand.IntN(2000))*time.Millisecond); err == nil {
							check(h)
						} else if !errors.Is(err, engine.ErrLost) {
							t.Errorf("extend: %v", err)
						}
					}
					// Where the lease ends before the answer to the release is there, nobody can tell any more.
					if err := h.Unlock(ctx); err != nil && !testkit.IsAny(err, engine.ErrLost, engine.ErrUncertain) {
						t.Errorf("unlock: %v", err)
					}
				}
				cancel()
			}
		})
	}
	callers.Wait()
	t.Logf("%d times a hold ended before its key, %d times it had ended", checked.Load(), ended.Load())
	testkit.CheckQuiet(t, server, e, 0)
}
