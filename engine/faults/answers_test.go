package faults_test

import (
	"context"
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

// contest is callers who compete for a few names and check that they have them alone.
type contest struct {
	t      *testing.T
	server *redistest.Server
	e      *engine.Engine
	names  int
	mixed  bool           // half of the callers give another lease than the watchdog's: they get no handoff
	inside []atomic.Int32 // by name: how many believe to hold it
	grants atomic.Int64
}

func newContest(t *testing.T, s *redistest.Server, e *engine.Engine, names int, mixed bool) *contest {
	return &contest{t: t, server: s, e: e, names: names, mixed: mixed, inside: make([]atomic.Int32, names)}
}

// run has so many callers compete until until says so.
func (c *contest) run(callers int, until func() bool) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for !until() && !c.t.Failed() {
				c.once(i)
			}
		})
	}
	wg.Wait()
}

// once takes a name, looks who has it in Redis, and gives it back.
func (c *contest) once(caller int) {
	n := caller % c.names
	name := fmt.Sprintf("contest:%d", n)
	var opts []engine.LockOption
	if c.mixed && caller/c.names%2 == 1 {
		opts = append(opts, engine.WithLease(time.Duration(10+rand.IntN(3))*time.Second))
	}
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	h, err := c.e.Mutex(name).Lock(ctx, opts...)
	if err != nil {
		c.t.Errorf("lock %s: %v", name, err)
		return
	}
	c.grants.Add(1)
	c.enter(n)
	if got, want := testkit.Owners(c.server, name), []string{h.TenureID(), "1"}; !slices.Equal(got, want) {
		c.t.Errorf("in Redis stands %q, want %q", got, want)
	}
	c.inside[n].Add(-1)
	if err := h.Unlock(ctx); err != nil {
		c.t.Errorf("unlock %s: %v", name, err)
	}
}

// enter notes that a caller holds a name, and that nobody else may.
func (c *contest) enter(n int) {
	if in := c.inside[n].Add(1); in != 1 {
		c.t.Errorf("%d callers hold name %d", in, n)
	}
}

// A lost answer must not make an owner twice, nor two owners, nor strand a name: whatever is asked again is
// asked under the same owner id.
func TestFaultSwallowedAnswerHasOneEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script  scripts.Script
		handoff time.Duration
	}{
		{scripts.Acquire, -1}, {scripts.Release, -1}, {scripts.Confirm, time.Millisecond},
	} {
		t.Run(c.script.Name, func(t *testing.T) {
			t.Parallel() // mostly it waits for late deliveries before it closes
			script := c.script
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			e := testkit.Connect(t, proxy.Addr(), func(o *engine.Options) { o.HandoffTime = c.handoff })
			c := newContest(t, server, e, 4, false)
			want := int64(testkit.Times(t, 2_000, 60))
			proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(script), Nth: 2, Times: int(want)})
			began := time.Now()
			c.run(16, testkit.Reached(want, func() int64 { return proxy.Stats().Swallowed }))
			if got := proxy.Stats().Swallowed; got < want {
				t.Errorf("only %d of %d answers were swallowed in %v", got, want, time.Since(began))
			}
			t.Logf("%d answers swallowed under %d grants in %v", proxy.Stats().Swallowed, c.grants.Load(), time.Since(began).Round(time.Millisecond))
			testkit.CheckQuiet(t, server, e, 0)
		})
	}
}

// A lost answer to a renewal is no loss: the renewal is asked for again until the deadline. Each answer that
// is lost breaks the link, and each link that comes back has every hold verified, by a renewal: so answers are
// lost one after the other, in runs that are shorter than the lease.
func TestFaultSwallowedRenewalLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	var holds []*engine.Hold
	for i := range 40 {
		holds = append(holds, testkit.MustLock(t, e.Mutex(fmt.Sprintf("renewed:%d", i))))
	}
	const run = 40 // every break of the link takes a tenth of a second, or several on a busy machine: of these there are fewer
	want := int64(testkit.Times(t, 2_000, 5*run))
	for over := testkit.Reached(want, func() int64 { return proxy.Stats().Swallowed }); !over() && !t.Failed(); {
		before, swallowed, began := holds[0].Deadline(), proxy.Stats().Swallowed, time.Now()
		renews, acquires := testkit.Runs(scripts.Renew), testkit.Runs(scripts.Acquire)
		proxy.SwallowReply(redistest.Swallow{Match: func(args []string) bool { return renews(args) || acquires(args) }, Times: run})
		another := e.Mutex("another").LockAsync(testkit.Soon(t)) // the first answer to be lost is this acquire's
		redistest.Await(t, "the answers to be swallowed", func() bool {
			return proxy.Stats().Swallowed == swallowed+run || time.Since(began) > 10*time.Second // a third of the lease
		})
		proxy.SwallowNothing()
		redistest.Await(t, "a renewal", func() bool { return holds[0].Deadline().After(before) })
		mustGet(t, another)
	}
	if got := proxy.Stats().Swallowed; got < want {
		t.Errorf("only %d of %d answers were swallowed", got, want)
	}
	for _, h := range holds {
		if err := h.Err(); err != nil {
			t.Fatalf("%s: %v", h.Name(), err)
		}
		if got, want := testkit.Owners(server, h.Name()), []string{h.TenureID(), "1"}; !slices.Equal(got, want) {
			t.Errorf("in Redis stands %q, want %q", got, want)
		}
		testkit.MustUnlock(t, h)
	}
	testkit.CheckQuiet(t, server, e, 0)
}
