package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Permits that are held come back whatever happened to the calls that took them, and no hold believes in
// permits that it has not.
// invariant: change-has-one-effect
func TestFaultHeldPermitsAreNeitherLostNorMade(t *testing.T) {
	t.Parallel()
	const permits = 5
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e, other := testkit.Connect(t, proxy.Addr()), testkit.Connect(t, server.Addr())
	server.MustDo("SET", "pool", strconv.Itoa(permits))
	for _, s := range []scripts.Script{scripts.PermitTake, scripts.PermitFree} {
		proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(s), Nth: 20, Times: testkit.Times(t, 1000, 20)})
		before := e.Stats().Uncertain
		lost := testkit.Reached(before+1, func() int64 { return e.Stats().Uncertain })
		var inside, acquired atomic.Int64
		until := time.Now().Add(testkit.Lasting(t, time.Minute, 2*time.Second))
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				p := []*engine.Engine{e, other}[i%2].PermitSemaphore("pool")
				for (time.Now().Before(until) || !lost()) && !t.Failed() {
					hold(t, p, 1+i%2, permits, &inside, &acquired)
				}
			})
		}
		wg.Wait()
		proxy.SwallowNothing()
		redistest.Await(t, "all permits to be back", func() bool { return server.MustDo("GET", "pool").Text == strconv.Itoa(permits) })
		if n := server.MustDo("ZCARD", "{pool}:timeout").Int; n != 0 {
			t.Errorf("%d permits are held by nobody", n)
		}
		if e.Stats().Uncertain == before {
			t.Errorf("no answer of %s was lost", s.Name)
		}
		t.Logf("%d acquired", acquired.Load())
	}
}

// hold is borrow with a Hold.
func hold(t *testing.T, p *engine.PermitSemaphore, n int, permits int64, inside, acquired *atomic.Int64) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	if rand.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	h, err := p.Acquire(ctx, n)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire: %v", err)
		}
		return
	}
	acquired.Add(1)
	if in := inside.Add(int64(n)); in > permits {
		t.Errorf("%d permits are out, of %d", in, permits)
	}
	inside.Add(-int64(n))
	if err := testkit.Patiently(h.Unlock); err != nil {
		t.Errorf("Unlock: %v", err)
	}
}

// Redisson's waiters let so many in as the message says: of one permit freed it is how many there are now, of
// several and of new ones how many came.
func TestPermitMessages(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	p, monitor := testkit.Connect(t, proxy.Addr()).PermitSemaphore("pool"), server.Monitor()
	if set, err := p.TrySetPermits(testkit.Soon(t), 7); !set || err != nil {
		t.Fatalf("TrySetPermits = %t, %v", set, err)
	}
	proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(scripts.PermitAdd)}) // sent again it adds nothing and tells nobody (invariant: change-has-one-effect)
	check(t, "AddPermits", p.AddPermits(testkit.Soon(t), 3))
	check(t, "AddPermits", p.AddPermits(testkit.Soon(t), -4))
	for _, n := range []int{1, 2} {
		h, err := p.Acquire(testkit.Soon(t), n)
		if err != nil {
			t.Fatal(err)
		}
		testkit.MustUnlock(t, h)
	}
	if free := server.MustDo("GET", "pool").Text; free != "6" {
		t.Errorf("free = %s, want 7 + 3 - 4", free)
	}
	wantPublished(t, monitor, scripts.SemaphoreChannel("pool"), "7", "3", "6", "2")
}

// The other party runs what Redisson's scripts run.
func TestHeldPermitsBesideRedisson(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
	p := e.PermitSemaphore("pool")
	if set, err := p.TrySetPermits(testkit.Soon(t), 2); !set || err != nil {
		t.Fatalf("TrySetPermits = %t, %v", set, err)
	}
	theirs := "0123456789abcdef"
	server.MustDo("DECRBY", "pool", "1")
	server.MustDo("ZADD", "{pool}:timeout", "922337203685477", theirs) // for ever
	h, err := p.Acquire(testkit.Soon(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(server.MustDo("ZRANGE", "{pool}:timeout", "0", "0").Items[0].Text) != 16 {
		t.Error("a member is not 16 bytes long")
	}
	if err := p.Release(testkit.Soon(t), strings.Repeat("00", 16)); !errors.Is(err, engine.ErrLost) {
		t.Errorf("Release of nothing: %v, want ErrLost", err)
	}
	waiter := p.AcquireAsync(testkit.Soon(t), 1)
	redistest.Await(t, "it to listen", func() bool {
		return slices.Contains(server.Subscriptions().Channels, "redisson_sc:{pool}")
	})
	server.MustDo("ZREM", "{pool}:timeout", theirs)
	server.MustDo("INCRBY", "pool", "1")
	server.MustDo("PUBLISH", "redisson_sc:{pool}", "1")
	second, err := waiter.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustUnlock(t, h)
	testkit.MustUnlock(t, second)
	if free := server.MustDo("GET", "pool").Text; free != "2" {
		t.Errorf("free = %s, want 2", free)
	}
	// One of theirs that has run out is reclaimed.
	server.MustDo("DECRBY", "pool", "2")
	server.MustDo("ZADD", "{pool}:timeout", "1", theirs, "1", "fedcba9876543210")
	if free, err := p.Available(testkit.Soon(t)); free != 2 || err != nil {
		t.Errorf("Available = %d, %v, want 2 after two have run out", free, err)
	}
}
