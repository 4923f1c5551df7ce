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

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// rounds is callers of several processes who take one name again and again, and check what its kind promises.
type rounds struct {
	*stage
	inside atomic.Int64
	grants atomic.Int64
	token  atomic.Int64 // the largest of a fenced lock

	mu      sync.Mutex    // guards the next
	longest time.Duration // that somebody waited
}

// once takes the name and gives it back; one in four callers goes away after a moment.
func (r *rounds) once(engines []*engine.Engine, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	leaves := rand.IntN(4) == 0
	if leaves {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(4000))*time.Microsecond)
		defer cancel()
	}
	asked := time.Now()
	got, err := r.source(engines, name).get(ctx)
	if err != nil {
		if !leaves || !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("get: %v", err)
		}
		return
	}
	r.mu.Lock()
	r.longest = max(r.longest, time.Since(asked))
	r.mu.Unlock()
	r.grants.Add(1)
	if n := r.inside.Add(1); n > r.room {
		r.Errorf("%d are inside, of %d", n, r.room)
	}
	if token, fenced := fencing(got); fenced {
		if before := r.token.Swap(token); token <= before {
			r.Errorf("token %d after %d", token, before)
		}
	}
	r.inside.Add(-1)
	if err := testkit.Patiently(got.back); err != nil {
		r.Errorf("give back: %v", err)
	}
}

func fencing(got taken) (int64, bool) {
	if got.hold == nil {
		return 0, false
	}
	return got.hold.Token()
}

// Whatever answer of whatever script is lost, of asking, renewing or giving back: nothing is done twice, nobody is
// let in beside another, no permit is lost or made, and nothing is left.
func TestFaultKindsSwallowedAnswersHaveOneEffect(t *testing.T) {
	t.Parallel()
	isHeld := func(k *kind) bool { return k.room > 0 }
	onEveryKind(t, isHeld, func(s *stage) {
		r := &rounds{stage: s}
		s.stock("stock:7")
		want := int64(testkit.Times(s, 1_000, 10))
		for _, p := range s.proxies {
			p.SwallowReply(redistest.Swallow{Match: redistest.Command("EVALSHA"), Nth: 4, Times: -1})
		}
		swallowed := func() (n int64) {
			for _, p := range s.proxies {
				n += p.Stats().Swallowed
			}
			return n
		}
		began, over := time.Now(), testkit.Reached(want, swallowed)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				engines := [][]*engine.Engine{s.ours, s.ours, s.theirs}[i%3]
				for !s.Failed() && !over() {
					r.once(engines, "stock:7")
				}
			})
		}
		s.await(over)
		for _, p := range s.proxies {
			p.SwallowNothing() // lest one who still waits loses again and again
		}
		wg.Wait()
		if n := swallowed(); n < want {
			s.Errorf("only %d of %d answers were swallowed in %v", n, want, time.Since(began))
		}
		s.Logf("%d answers swallowed under %d grants in %v", swallowed(), r.grants.Load(), time.Since(began).Round(time.Millisecond))
		s.checkQuiet()
	}, func(o *engine.Options) { o.HandoffTime = time.Millisecond }) // the more is asked of Redis
}

// A latch counts each call once, whatever answer is lost: it is opened by the last of those who count down, and nobody
// passes before that.
func TestFaultKindsLatchIsNotPassedEarly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e, other := testkit.Connect(t, proxy.Addr()), testkit.Connect(t, server.Addr())
	proxy.SwallowReply(redistest.Swallow{Match: redistest.Command("EVALSHA"), Nth: 3, Times: -1})
	for i := range testkit.Times(t, 500, 10) {
		name := fmt.Sprintf("start:%d", i)
		if set, err := e.CountDownLatch(name).TrySetCount(testkit.Soon(t), 3); !set || err != nil {
			t.Fatalf("TrySetCount = %t, %v", set, err)
		}
		var opened atomic.Bool
		var passed sync.WaitGroup
		for _, waiter := range []*engine.Engine{e, other} {
			passed.Go(func() {
				if err := waiter.CountDownLatch(name).Wait(testkit.Soon(t)); err != nil {
					t.Errorf("Wait: %v", err)
				} else if !opened.Load() {
					t.Error("passed before it was opened")
				}
			})
		}
		for n := range 3 {
			opened.Store(n == 2)
			check(t, "CountDown", e.CountDownLatch(name).CountDown(testkit.Soon(t)))
		}
		if passed.Wait(); t.Failed() {
			return
		}
	}
	if n := e.Stats().Uncertain; n == 0 {
		t.Error("no answer was lost")
	}
}
