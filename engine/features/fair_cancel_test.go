package features_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
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
	e, another := testkit.Connect(t, s.Addr()), testkit.Connect(t, s.Addr())
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
}

// checkNothing asserts that another process gets the lock, and that nothing is left.
func checkNothing(w *virtual.World, another *engine.Engine) {
	w.T.Helper()
	testkit.MustUnlock(w.T, testkit.MustLock(w.T, another.FairMutex(fairName)))
	w.Quiet(another, 0)
}

// Four wait for some milliseconds, while the lock goes from hand to hand and everything takes one or two, each way.
func TestFairWaiterThatIsCancelledAtAnyMomentLeavesNothing(t *testing.T) {
	t.Parallel()
	virtual.Seeds(t, testkit.Times(t, 2_000, 12), func(w *virtual.World, random *rand.Rand) {
		e, link := w.Connect()
		another, _ := w.Connect()
		for _, d := range []*redisnet.Direction{&link.Up, &link.Down} {
			chance := rand.New(rand.NewPCG(random.Uint64(), 0))
			d.Delay(func() time.Duration { return time.Millisecond + time.Duration(chance.IntN(1000))*time.Microsecond })
		}
		var wg sync.WaitGroup
		for range 10 {
			for range 4 {
				wait := time.Duration(random.IntN(8000)) * time.Microsecond
				wg.Go(func() { lockBriefly(w.T, e.FairMutex(fairName), wait) })
			}
			wg.Go(func() { lockBriefly(w.T, another.FairMutex(fairName), testkit.Patience) })
			wg.Wait()
		}
		checkNothing(w, another)
	})
}

// Three answers to a script are lost, of every two one.
func TestFairWaiterThatIsCancelledWhileAnswersAreLostLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, script := range []scripts.Script{scripts.FairAsk, scripts.FairRelease, scripts.FairLeave} {
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			virtual.Seeds(t, testkit.Times(t, 1_000, 8), func(w *virtual.World, random *rand.Rand) {
				e, link := w.Connect()
				another, _ := w.Connect()
				runs, chance := virtual.Runs(script), rand.New(rand.NewPCG(random.Uint64(), 0))
				link.Down.Swallow(3, func(args []string) bool { return runs(args) && chance.IntN(2) == 0 })
				for link.Down.Swallows() > 0 {
					var wg sync.WaitGroup
					wg.Go(func() { lockBriefly(w.T, another.FairMutex(fairName), testkit.Patience) })
					for range 4 {
						wait := time.Duration(random.IntN(20_000)) * time.Microsecond
						wg.Go(func() { lockBriefly(w.T, e.FairMutex(fairName), wait) })
					}
					wg.Wait()
				}
				checkNothing(w, another)
			})
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
	t.Parallel()
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
