package clusters_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/judge"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// replicaOf is the replica of a master of the beginning, in a cluster with one for each.
func replicaOf(c *redistest.Cluster, master int) *redistest.Server {
	return c.Nodes[len(c.Nodes)/2+master]
}

// awaitMaster waits until a replica has taken over.
func awaitMaster(t *testing.T, c *redistest.Cluster, replica *redistest.Server) {
	t.Helper()
	redistest.Await(t, "a master in "+replica.Addr(), func() bool {
		role := replica.Do("ROLE").Items
		return len(role) > 0 && role[0].Text == "master"
	})
	c.AwaitOK()
}

func awaitKey(t *testing.T, s *redistest.Server, key string) {
	t.Helper()
	redistest.Await(t, key+" at "+s.Addr(), func() bool { return slices.Contains(s.Keys(), key) })
}

// A master dies and its replica takes over: what was replicated is kept, its holders go on, and who waits gets it.
// invariant: command-follows-its-slot
func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	slow := func(o *engine.Options) { o.Lease, o.PollCap = time.Hour, time.Hour } // nobody asks for want of something to do
	a, b := testkit.Join(t, c, slow), testkit.Join(t, c, slow)
	dying := nameAt(t, c, "dying", c.Nodes[0])
	held := testkit.MustLock(t, a.Mutex(dying))
	elsewhere := testkit.MustLock(t, a.Mutex(nameAt(t, c, "living", c.Nodes[1])))
	waiter := b.Mutex(dying).LockAsync(testkit.Soon(t))
	awaitListeners(t, c.Nodes[0], 1)
	awaitKey(t, replicaOf(c, 0), dying)

	c.Nodes[0].Kill()
	awaitMaster(t, c, replicaOf(c, 0))
	awaitListeners(t, replicaOf(c, 0), 1)
	redistest.Await(t, "an answer to a query", func() bool { // which is told that it was not sent, until it is known where to
		state, err := a.Mutex(dying).Inspect(testkit.Soon(t))
		if err == nil && state.Owner != held.TenureID() {
			t.Errorf("Inspect after the failover = %+v; want the owner %s", state, held.TenureID())
		}
		return err == nil
	})
	testkit.MustUnlock(t, held)
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))
	if err := elsewhere.Err(); err != nil {
		t.Errorf("a hold on another master: %v", err)
	}
	testkit.MustUnlock(t, elsewhere)
	redistest.Await(t, "links to all that serve", func() bool { return a.Stats().Up && b.Stats().Up })
}

// A lock that its master had not replicated is gone with it: its holder is told when the replica that took over is
// asked, and not at the end of the lease.
func TestClusterTellsOfLocksLostInAFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	e := testkit.Join(t, c, testkit.Lease(testkit.Patience+10*time.Second)) // longer than the test waits for the end of the hold
	name := nameAt(t, c, "lost", c.Nodes[0])
	held := testkit.MustLock(t, e.Mutex(name))
	replica := replicaOf(c, 0)
	awaitKey(t, replica, name)
	replica.MustDo("CONFIG", "SET", "replica-read-only", "no")
	replica.MustDo("FLUSHALL") // it forgets, as if it had never heard of it
	c.Nodes[0].Kill()
	testkit.WantIs(t, "the hold", testkit.MustEnd(t, held), engine.ErrLost)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex(name)))
}

// An orderly change of masters loses nothing and is no error to anybody.
func TestClusterChangesMastersUnderLoad(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	e := testkit.Join(t, c)
	callers := newContenders(t)
	for _, name := range testkit.Spread("changing", 12) {
		callers.contend(2, e.Mutex(name))
	}
	for i := range testkit.Times(t, 50, 2) {
		next := replicaOf(c, 0)
		if i%2 == 1 {
			next = c.Nodes[0]
		}
		before := callers.pairs.Load()
		c.Failover(next)
		redistest.Await(t, "locks taken after the change", func() bool { return callers.pairs.Load() > before+50 })
	}
	t.Logf("%d pairs", callers.finish())
}

// viaProxy has an engine reach one node through a proxy.
func viaProxy(node *redistest.Server, p *redistest.Proxy) func(*engine.Options) {
	return func(o *engine.Options) {
		o.Redis.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if addr == node.Addr() {
				addr = p.Addr()
			}
			return d.DialContext(ctx, "tcp", addr)
		}
	}
}

// One of three masters swallows everything (invariant: renewals-go-first): names on the others go on at full speed, and nothing of theirs is
// lost, while the holder of a name behind it is told in time.
func TestClusterBlackHoleDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	proxy := redistest.NewProxy(t, c.Nodes[0].Addr())
	e := testkit.Join(t, c, testkit.Lease(4*time.Second), viaProxy(c.Nodes[0], proxy))
	behind := testkit.MustLock(t, e.Mutex(nameAt(t, c, "behind", c.Nodes[0])))
	var kept []*engine.Hold
	for _, node := range c.Nodes[1:] {
		for _, room := range []string{"a", "b", "c"} {
			kept = append(kept, testkit.MustLock(t, e.Mutex(nameAt(t, c, room, node))))
		}
	}
	callers, others, stuck := newContenders(t), newContenders(t), newContenders(t)
	elsewhere := testkit.Join(t, c) // not behind the black hole: what this machine can do meanwhile
	t.Cleanup(func() { others.finish() })
	for _, node := range c.Nodes[1:] {
		callers.contend(2, e.Mutex(nameAt(t, c, "busy", node)))
		others.contend(2, elsewhere.Mutex(nameAt(t, c, "elsewhere", node)))
	}
	proxy.BlackHole(redistest.Both, true)
	var waiting sync.WaitGroup
	for i := range 20 { // these wait for it to end
		name := nameAt(t, c, fmt.Sprintf("stuck%d", i), c.Nodes[0])
		waiting.Go(func() { stuck.pair(e.Mutex(name), new(judge.Inside)) })
	}
	before, beside := callers.pairs.Load(), others.pairs.Load()
	testkit.WantIs(t, "the hold behind the black hole", testkit.MustEnd(t, behind), engine.ErrLost)
	during, usual := callers.pairs.Load()-before, others.pairs.Load()-beside
	t.Logf("%d pairs on the others until it was told, %d of an engine with no black hole", during, usual)
	if during < usual/5 { // callers that wait for a time-out of a second make eight pairs a second
		t.Errorf("%d pairs on the others until it was told, %d of an engine with no black hole", during, usual)
	}
	redistest.Await(t, "more than a lease of work on the others", func() bool { return callers.pairs.Load() > before+2*during })
	for _, h := range kept {
		if err := h.Err(); err != nil {
			t.Errorf("%s, on another master: %v", h.Name(), err)
		}
		testkit.MustUnlock(t, h)
	}
	callers.finish()
	proxy.BlackHole(redistest.Both, false)
	waiting.Wait()
}
