package faults_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A lost answer makes nobody a reader or a writer twice, nor strands the lock.
func TestFaultRWSwallowedAnswerHasOneEffect(t *testing.T) {
	t.Parallel()
	for _, s := range []scripts.Script{scripts.AcquireRead, scripts.AcquireWrite, scripts.ReleaseRead, scripts.ReleaseWrite, scripts.Downgrade, scripts.RenewRead} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel() // mostly it waits
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			short := func(o *engine.Options) { o.HandoffTime = time.Millisecond } // the more is asked of Redis
			e, other := testkit.Connect(t, proxy.Addr(), short), testkit.Connect(t, server.Addr(), short)
			c := &testkit.RwContest{T: t, Engines: []*engine.Engine{e, e, e, other}}
			want := int64(testkit.Times(t, 1_000, 16))
			proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(s), Nth: 3, Times: int(want)})
			began := time.Now()
			c.Run(16, testkit.Reached(want, func() int64 { return proxy.Stats().Swallowed }))
			if got := proxy.Stats().Swallowed; got < want {
				t.Errorf("only %d of %d answers were swallowed in %v", got, want, time.Since(began))
			}
			t.Logf("%d answers swallowed under %d grants in %v", proxy.Stats().Swallowed, c.Grants.Load(), time.Since(began).Round(time.Millisecond))
			testkit.CheckQuiet(t, server, e, 0)
		})
	}
}

// Calls that are cancelled while queued, in flight or just granted leave nothing.
func TestFaultRWCancelledCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Latency(redistest.Both, time.Millisecond, time.Millisecond)
	e, other := testkit.Connect(t, proxy.Addr()), testkit.Connect(t, server.Addr())
	c := &testkit.RwContest{T: t, Engines: []*engine.Engine{e, e, e, other}, Cancel: true}
	until := time.Now().Add(testkit.Lasting(t, 2*time.Minute, 3*time.Second))
	c.Run(32, func() bool { return time.Now().After(until) })
	t.Logf("%d grants", c.Grants.Load())
	testkit.CheckQuiet(t, server, e, 0)
}

// Whoever waits when the subscription breaks is not stranded, although nobody polls here.
func TestFaultRWKilledSubscriptionStrandsNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, other := testkit.Connect(t, server.Addr(), testkit.OnlyMessages), testkit.Connect(t, server.Addr(), testkit.OnlyMessages)
	c := &testkit.RwContest{T: t, Engines: []*engine.Engine{e, other}}
	until := time.Now().Add(testkit.Lasting(t, time.Minute, 3*time.Second))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for time.Now().Before(until) {
			server.KillClients("pubsub")
			time.Sleep(20 * time.Millisecond)
		}
	}()
	c.Run(16, func() bool { return time.Now().After(until) })
	<-stopped
	t.Logf("%d grants", c.Grants.Load())
	testkit.CheckQuiet(t, server, e, 0)
}
