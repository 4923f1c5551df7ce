package features_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// checkFree asserts that another process gets the lock, and that nothing is left when it gives it back.
func checkFree(t *testing.T, s *redistest.Server, another *engine.Engine) {
	t.Helper()
	testkit.MustUnlock(t, testkit.MustLock(t, another.FairMutex(fairName)))
	checkNoQueue(t, s)
}

func TestFairCancelledWaiterLeavesTheQueue(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	proxy := redistest.NewProxy(t, s.Addr())
	e, another := testkit.Connect(t, proxy.Addr()), testkit.Connect(t, s.Addr())
	m := e.FairMutex(fairName)

	t.Run("when it has long stood there, in any order", func(t *testing.T) {
		held := testkit.MustLock(t, another.FairMutex(fairName))
		var calls []func() bool
		for range 200 {
			calls = append(calls, m.LockAsync(context.Background()).Cancel)
		}
		awaitLength(t, s, fairQueue, 200)
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		for _, cancel := range calls {
			if !cancel() {
				t.Error("a waiter was answered")
			}
		}
		redistest.Await(t, "an empty queue", func() bool {
			return s.MustDo("LLEN", fairQueue).Int == 0 && s.MustDo("ZCARD", fairDeadlines).Int == 0
		})
		testkit.MustUnlock(t, held)
		checkFree(t, s, another)
	})
	t.Run("when its wait is over", func(t *testing.T) {
		held := testkit.MustLock(t, another.FairMutex(fairName))
		_, err := m.Lock(testkit.Soon(t), engine.WithWait(300*time.Millisecond))
		for wait := time.Second; !errors.Is(err, engine.ErrHeld) && wait < testkit.Patience; wait *= 2 { // a busy machine had no answer
			_, err = m.Lock(testkit.Soon(t), engine.WithWait(wait))
		}
		if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrHeld) {
			t.Errorf("Lock = %v, want ErrWaitTimeout and ErrHeld", err)
		}
		redistest.Await(t, "an empty queue", func() bool { return s.MustDo("LLEN", fairQueue).Int == 0 })
		testkit.MustUnlock(t, held)
		checkFree(t, s, another)
	})
	t.Run("at any moment of its way", func(t *testing.T) {
		proxy.Latency(redistest.ClientToServer, time.Millisecond, time.Millisecond)
		proxy.Latency(redistest.ServerToClient, time.Millisecond, time.Millisecond)
		defer proxy.Latency(redistest.ClientToServer, 0, 0)
		defer proxy.Latency(redistest.ServerToClient, 0, 0)
		for range testkit.Times(t, 2_000, 60) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { lockBriefly(t, m, rand.N(8*time.Millisecond)) })
			}
			wg.Go(func() { lockBriefly(t, another.FairMutex(fairName), testkit.Patience) })
			wg.Wait()
		}
		checkFree(t, s, another)
	})
	for _, script := range []scripts.Script{scripts.FairAsk, scripts.FairRelease, scripts.FairLeave} {
		t.Run("when answers are lost: "+script.Name, func(t *testing.T) {
			want := proxy.Stats().Swallowed + int64(testkit.Times(t, 1_000, 20))
			proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(script), Nth: 2, Times: -1})
			over := testkit.Reached(want, func() int64 { return proxy.Stats().Swallowed })
			for !over() && !t.Failed() {
				var wg sync.WaitGroup
				wg.Go(func() { lockBriefly(t, another.FairMutex(fairName), testkit.Patience) })
				for range 4 {
					wg.Go(func() { lockBriefly(t, m, rand.N(20*time.Millisecond)) })
				}
				wg.Wait()
			}
			if got := proxy.Stats().Swallowed; got < want {
				t.Errorf("swallowed %d answers, want %d", got, want)
			}
			proxy.SwallowNothing()
			checkFree(t, s, another)
		})
	}
}

// lockBriefly takes the lock and gives it back, unless its context ends before.
func lockBriefly(t *testing.T, m *engine.Mutex, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	h, err := m.Lock(ctx)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) || d == testkit.Patience {
			t.Errorf("Lock: %v", err)
		}
		return
	}
	if err := h.Unlock(testkit.Soon(t)); err != nil {
		t.Errorf("Unlock: %v", err)
	}
}

func TestFairCloseLeavesTheQueue(t *testing.T) {
	s := redistest.Start(t)
	another := testkit.Connect(t, s.Addr())
	held := testkit.MustLock(t, another.FairMutex(fairName))
	closing := testkit.Connect(t, s.Addr())
	var answers []func() error
	for range 500 {
		f := closing.FairMutex(fairName).LockAsync(context.Background())
		answers = append(answers, func() error { _, err := f.Wait(testkit.Soon(t)); return err })
	}
	awaitLength(t, s, fairQueue, 500)
	if err := closing.Close(); err != nil {
		t.Fatal(err)
	}
	for _, answer := range answers {
		if err := answer(); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("a waiter heard %v, want ErrClosed", err)
		}
	}
	if n := s.MustDo("LLEN", fairQueue).Int; n != 0 {
		t.Errorf("%d places left after Close", n)
	}
	testkit.MustUnlock(t, held)
	checkFree(t, s, another)
}
