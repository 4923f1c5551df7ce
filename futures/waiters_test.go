package futures

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The queue behaves as a slice does, whatever comes and goes.
func TestWaitersAgainstASlice(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var queue waiters
	var model []*waiter
	for range 10_000 {
		switch n := random.IntN(5); {
		case n < 2:
			w := new(waiter)
			queue.push(w)
			model = append(model, w)
		case n < 4 && len(model) > 0:
			i := random.IntN(len(model))
			w := model[i]
			if !queue.remove(w) || queue.remove(w) {
				t.Fatal("remove is not true once")
			}
			model = slices.Delete(model, i, i+1)
		default:
			w := queue.pop()
			if len(model) == 0 {
				if w != nil {
					t.Fatal("pop of an empty queue gave a waiter")
				}
				continue
			}
			if w != model[0] {
				t.Fatal("pop did not give the first one")
			}
			model = model[1:]
		}
	}
}

// Waiting for ever on one future, a little at a time, leaves nothing in its queue.
func TestGivingUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[int](nil, nil).Future()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = f.Wait(ctx)
			cancel()
		}
		if f.queue.first != nil {
			t.Error("a waiter that gave up is still in the queue")
		}
	})
}

// The sequence of events told at parker, up to the moment where a hasty Wait would go wrong.
func TestWaitTakesTheWakeUpItIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[int](nil, nil).Future()
		ctx, cancel := context.WithCancel(t.Context())
		var got int
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			got, _ = f.Wait(ctx)
		}()
		synctest.Wait()

		f.state.Store(claimed) // a Settle, preempted before it sends
		f.value = 7
		f.state.Store(answered)
		p := f.queue.pop().owner.(*parker)

		cancel()
		synctest.Wait()
		select {
		case <-returned:
			t.Fatal("Wait left a wake-up behind")
		default:
		}
		p.answered()
		<-returned
		if got != 7 || len(p.wake) != 0 {
			t.Errorf("Wait = %d with %d wake-ups left, want 7 and none", got, len(p.wake))
		}
	})
}
