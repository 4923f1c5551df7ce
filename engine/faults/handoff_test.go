package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// hot is 64 callers who lock and unlock one name as fast as they can, until stop.
func hot(w *virtual.World, e *engine.Engine) (grants *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	grants = new(atomic.Int64)
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for ctx.Err() == nil {
				h, err := e.Mutex("hot").Lock(ctx)
				if err == nil {
					grants.Add(1)
					time.Sleep(time.Duration(100+rand.IntN(100)) * time.Microsecond)
					err = testkit.Patiently(h.Unlock)
				}
				if err != nil && ctx.Err() == nil {
					w.T.Errorf("a hot caller: %v", err)
					return
				}
			}
		})
	}
	return grants, func() { cancel(); callers.Wait() }
}

// visit has another program so far away get the hot name again and again by Redisson's plain protocol: it listens, and asks
// when it hears something. It returns how often it got it and how long that took at worst.
func visit(w *virtual.World, away, runs time.Duration) (times int, longest time.Duration) {
	l := redisnet.NewLink("another program", w.Server)
	l.Mend(func() time.Duration { return away })
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis:6379"}, DialCtxFn: l.Dial, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		w.T.Fatal(err)
	}
	defer client.Close()
	o := &testkit.Outsider{TB: w.T, Client: client, Owner: virtual.Outsider}
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

// However hot a name is inside a process, another one that waits for it gets it ten times a second at least, and one that needs 60 ms to
// answer a message every four seconds.
// invariant: others-get-a-turn
func TestFaultHandoffStarvesNobody(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]struct{ away, every time.Duration }{
		"near by": {50 * time.Microsecond, 100 * time.Millisecond}, "far away": {30 * time.Millisecond, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtual.Test(t, func(w *virtual.World) {
				e, _ := w.Connect()
				grants, stop := hot(w, e)
				runs := testkit.Lasting(t, time.Minute, other.every+time.Second)
				times, longest := visit(w, other.away, runs)
				stop()
				w.T.Logf("in %v the other process got in %d times, after %v at worst; %d grants inside", runs, times, longest, grants.Load())
				if times < int(runs/other.every) || grants.Load() < 1000 {
					w.T.Errorf("the other process got in %d times in %v", times, runs)
				}
				w.Quiet(e, 0)
			})
		})
	}
}

// A waiter that goes away in the moment in which the name is passed on to it does not keep it from the next.
func TestFaultCancelledWaiterSwallowsNoHandoff(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		m := e.Mutex("passed")
		granted, cancelled := 0, 0
		for round := range testkit.Times(t, 100_000, 500) {
			h := testkit.MustLock(w.T, m)
			if round%8 == 0 { // another program has it
				testkit.MustUnlock(w.T, h)
				h = nil
				w.Take("passed", time.Hour)
			}
			first, second := m.LockAsync(context.Background()), m.LockAsync(context.Background())
			if round%16 == 0 { // or else they are caught on their way
				time.Sleep(10 * time.Millisecond)
			}
			var race sync.WaitGroup
			race.Go(func() {
				yield(rand.IntN(10))
				if h == nil {
					w.Free("passed")
				} else {
					h.UnlockAsync()
				}
			})
			race.Go(func() {
				yield(rand.IntN(10))
				if h == nil || rand.IntN(4) == 0 {
					time.Sleep(rand.N(time.Millisecond))
				}
				first.Cancel()
			})
			race.Wait()
			if h, err := first.Wait(context.Background()); err == nil {
				granted++
				testkit.MustUnlock(w.T, h)
			} else if errors.Is(err, context.Canceled) {
				cancelled++
			} else {
				w.T.Fatalf("the first waiter: %v", err)
			}
			mustGet(w.T, second)
		}
		w.T.Logf("of the first waiters %d were granted and %d went away", granted, cancelled)
		if granted == 0 || cancelled == 0 {
			w.T.Error("there was no race")
		}
		w.Quiet(e, 0)
	})
}

// yield lets others run so often.
func yield(times int) {
	for range times {
		runtime.Gosched()
	}
}

// However a name is passed on, between whatever leases: no hold believes to last longer than its key.
// invariant: hold-within-tenure
func TestFaultNoHoldOutlivesItsLease(t *testing.T) {
	t.Parallel()
	virtual.Seeds(t, testkit.Times(t, 200, 4), func(w *virtual.World, random *rand.Rand) {
		c := &chance{r: random}
		e, _ := w.Connect(func(o *engine.Options) { o.Lease, o.HandoffTime = 2*time.Second, 20*time.Millisecond })
		var checked, ended atomic.Int64
		check := func(h *engine.Hold) {
			deadline, now := h.Deadline(), time.Now()
			if w.Server.Do("HEXISTS", h.Name(), h.TenureID()).Int == 0 {
				if h.Err() == nil && now.Before(deadline) {
					w.T.Errorf("%s: %s does not have it, and believes to until %v from now", h.Name(), h.TenureID(), deadline.Sub(now))
				}
				ended.Add(1)
				return
			}
			left := time.Duration(w.Server.Do("PTTL", h.Name()).Int+1) * time.Millisecond // PTTL cuts
			if deadline.After(now.Add(left)) {
				w.T.Errorf("%s: the hold lasts for %v, its key for %v", h.Name(), deadline.Sub(now), left)
			}
			checked.Add(1)
		}
		until := time.Now().Add(5 * time.Second)
		var callers sync.WaitGroup
		for i := range 12 {
			callers.Go(func() {
				m := e.Mutex(fmt.Sprintf("leased:%d", i%3))
				for time.Now().Before(until) && !w.T.Failed() {
					var opts []engine.LockOption
					if c.below(2) == 0 {
						opts = append(opts, engine.WithLease(time.Duration(20+c.below(500))*time.Millisecond))
					}
					h := testkit.MustLock(w.T, m, opts...)
					for range c.below(4) {
						check(h)
						c.pause(30 * time.Millisecond)
					}
					if opts != nil && c.below(3) == 0 {
						if err := h.Extend(context.Background(), time.Duration(100+c.below(2000))*time.Millisecond); err == nil {
							check(h)
						} else if !errors.Is(err, engine.ErrLost) {
							w.T.Errorf("extend: %v", err)
						}
					}
					// Where the lease ends before the answer to the release is there, nobody can tell any more.
					if err := h.Unlock(context.Background()); err != nil && !testkit.IsAny(err, engine.ErrLost, engine.ErrUncertain) {
						w.T.Errorf("unlock: %v", err)
					}
				}
			})
		}
		callers.Wait()
		w.T.Logf("%d times a hold ended before its key, %d times it had ended", checked.Load(), ended.Load())
		w.Quiet(e, 0)
	})
}
