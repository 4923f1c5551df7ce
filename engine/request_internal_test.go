package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redistest"
)

// The loop hears that nothing was handed over, so that the grant goes to the next caller or back.
// invariant: answered-once
func TestACancelledFutureIsHandedNothing(t *testing.T) {
	r := &request[*Hold]{}
	r.promise.Init(nil, nil)
	r.promise.Future().Cancel()
	if r.Settle(gate.Outcome{}) {
		t.Error("a grant was handed over to a future that was cancelled")
	}
}

// Of calls that were answered nothing is left: no context is watched, no worker counts as busy.
func TestAnsweredCallsLeaveNothingBehind(t *testing.T) {
	e := openEach(t, 1)[0]
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := e.Semaphore("permits")
	many, _ := e.All("b", "c")
	var answered sync.WaitGroup
	for range 100 {
		answered.Add(4)
		many.LockAsync(ctx, WithFailFast()).Then(func(h *Hold, err error) {
			h.UnlockAsync()
			answered.Done()
		})
		s.ReleaseAsync(ctx, 1).Then(func(struct{}, error) { answered.Done() })
		s.AcquireAsync(ctx, 1).Then(func(struct{}, error) { answered.Done() })
		e.Mutex("a").LockAsync(ctx).Then(func(h *Hold, err error) {
			h.UnlockAsync()
			answered.Done()
		})
	}
	answered.Wait()
	redistest.Await(t, "workers that have left, and no context or link that is watched", func() bool {
		watched := false
		e.fast.Range(func(any, any) bool { watched = true; return false })
		e.contexts.mu.Lock()
		defer e.contexts.mu.Unlock()
		e.callbacks.mu.Lock()
		defer e.callbacks.mu.Unlock()
		return !watched && len(e.contexts.groups) == 0 && e.callbacks.working == 0
	})
}

// A call that finds its answer after it has watched its context forgets that. So the answer comes first, and only then is the context
// forgotten, before which nobody may have watched it.
func TestAChangeIsSettledBeforeItsContextIsForgotten(t *testing.T) {
	c := &pendingChange{operation: operation{e: &Engine{}}}
	c.promise.Init(nil, nil)
	c.e.contexts.mu.Lock()
	defer c.e.contexts.mu.Unlock()
	go c.Settle(gate.Outcome{})
	redistest.Await(t, "the answer", c.promise.Settled)
}

// An answer may take as long as AnswerTimeout says, and as long as replicas and the disk may take besides.
func TestTheTimeForAnAnswer(t *testing.T) {
	for want, o := range map[time.Duration]Options{
		0:                       {AnswerTimeout: -1, Replicas: 1, Fsync: time.Second},
		time.Second:             {AnswerTimeout: time.Second},
		1100 * time.Millisecond: {AnswerTimeout: time.Second, Fsync: 100 * time.Millisecond},
		1600 * time.Millisecond: {AnswerTimeout: time.Second, Replicas: AllReplicas, Fsync: 100 * time.Millisecond},
	} {
		o.Lease = 5 * time.Second
		o.Redis.ConnWriteTimeout = time.Second
		if got := o.patience(); got != want {
			t.Errorf("%v: %v, want %v", o, got, want)
		}
	}
}
