package engine_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// The cluster_*_test.go files run the engine on a real Redis Cluster, and move, kill and cut off what it stands on.

// join makes an engine on a cluster until the end of the test. It is told one address; the rest it finds.
func join(tb testing.TB, c *redistest.Cluster, change ...func(*engine.Options)) *engine.Engine {
	tb.Helper()
	return connect(tb, c.Nodes[0].Addr(), change...)
}

// spread are names, one or more on every master, and in hash slots of their own.
func spread(room string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s:%d", room, i)
	}
	return names
}

// keysIn lists what stands in the masters of a cluster.
func keysIn(c *redistest.Cluster) (keys []string) {
	for _, node := range c.Nodes {
		keys = append(keys, node.Keys()...)
	}
	return keys
}

func TestClusterTakesEveryKind(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for _, pubsub := range []engine.PubSub{engine.PubSubAuto, engine.PubSubPlain, engine.PubSubBoth} {
		t.Run(pubsub.String(), func(t *testing.T) {
			talk := func(o *engine.Options) { o.PubSub, o.PollCap = pubsub, time.Hour }
			a, b := join(t, c, talk), join(t, c, talk)
			var wg sync.WaitGroup
			for _, name := range spread(pubsub.String(), 9) { // with an hour to the next question, only a message wakes
				wg.Go(func() { everyKind(t, a, b, name) })
			}
			wg.Wait()
		})
	}
	t.Run("under a hash tag", func(t *testing.T) {
		a, b := join(t, c), join(t, c)
		for _, l := range lockers(a, "{order}:7") {
			mustUnlock(t, mustLock(t, l))
		}
		handOver(t, lockers(a, "{order}:7"), lockers(b, "{order}:7"))
	})
}

// lockers are all locks with one holder, under names of their own.
func lockers(e *engine.Engine, name string) []engine.Locker {
	return []engine.Locker{
		e.Mutex(name + ":m"), e.FencedMutex(name + ":f"), e.SpinMutex(name + ":s"), e.FairMutex(name + ":q"), e.RWMutex(name + ":rw").Writer(), e.RWMutex(name + ":r").Reader(),
	}
}

// handOver has one engine wait for what another holds, and get it.
func handOver(t *testing.T, from, to []engine.Locker) {
	for i := range from {
		held := mustLock(t, from[i])
		waiter := to[i].LockAsync(soon(t))
		if i < len(from)-1 { // readers share
			if _, err := to[i].TryLock(soon(t)); !errors.Is(err, engine.ErrHeld) {
				t.Errorf("TryLock(%s) = %v, want ErrHeld", to[i].Name(), err)
			}
		}
		mustUnlock(t, held)
		h, err := waiter.Wait(soon(t))
		if err != nil {
			t.Errorf("Lock(%s): %v", to[i].Name(), err)
			continue
		}
		mustUnlock(t, h)
	}
}

func everyKind(t *testing.T, a, b *engine.Engine, name string) {
	handOver(t, lockers(a, name), lockers(b, name))
	ctx := soon(t)
	check := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %s: %v", name, what, err)
		}
	}
	sa, sb := a.Semaphore(name+":sem"), b.Semaphore(name+":sem")
	_, err := sa.TrySetPermits(ctx, 1)
	check("set permits", err)
	check("acquire", sa.Acquire(ctx, 1))
	waiter := sb.AcquireAsync(ctx, 1)
	check("release", sa.Release(ctx, 1))
	_, err = waiter.Wait(ctx)
	check("wait for a permit", err)

	pa, pb := a.PermitSemaphore(name+":permits"), b.PermitSemaphore(name+":permits")
	_, err = pa.TrySetPermits(ctx, 1)
	check("set permits that expire", err)
	h, err := pa.Acquire(ctx, 1)
	check("acquire one that expires", err)
	if err == nil {
		next := pb.AcquireAsync(ctx, 1)
		check("give it back", h.Unlock(ctx))
		if h, err = next.Wait(ctx); err == nil {
			err = h.Unlock(ctx)
		}
		check("wait for one that expires", err)
	}

	la, lb := a.CountDownLatch(name+":latch"), b.CountDownLatch(name+":latch")
	_, err = la.TrySetCount(ctx, 1)
	check("set a latch", err)
	opened := lb.WaitAsync(ctx)
	check("count down", la.CountDown(ctx))
	_, err = opened.Wait(ctx)
	check("wait for a latch", err)

	held := mustLock(t, a.Mutex(name+":seen"))
	state, err := b.Mutex(name + ":seen").Inspect(ctx)
	if err != nil || state.Owner != held.TenureID() {
		t.Errorf("Inspect = %+v, %v; want the owner %s", state, err, held.TenureID())
	}
	freed, err := b.Mutex(name + ":seen").ForceUnlock(ctx)
	if err != nil || !freed {
		t.Errorf("ForceUnlock = %v, %v", freed, err)
	}
	if err := held.Unlock(ctx); !errors.Is(err, engine.ErrLost) {
		t.Errorf("Unlock of what was freed by force: %v, want ErrLost", err)
	}
}

// Many hash slots in every batch: each call carries names of one.
func TestClusterServesCallersOnAllNodes(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	e := join(t, c)
	const callers = 1024
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for round := range 3 {
				h, err := e.Mutex(fmt.Sprintf("call:%d", (i+round*7)%callers)).Lock(soon(t))
				if err == nil {
					err = patiently(h.Unlock)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if keys := keysIn(c); len(keys) != 0 {
		t.Errorf("%d keys are left, such as %q", len(keys), keys[0])
	}
	if s := e.Stats(); !s.Up || s.Held != 0 || s.Waiting != 0 {
		t.Errorf("afterwards %+v", s)
	}
}

// A name whose keys cannot share a hash slot is refused before anything is sent, and by name.
func TestClusterRefusesNamesThatSpanSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	e := join(t, c)
	for _, name := range []string{"a{", "{}x", "a{}b", "}{", "a}b"} {
		_, err := e.Mutex(name).Lock(soon(t))
		mentions(t, err, name)
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Lock(%q) = %v, want ErrInvalid", name, err)
		}
		if _, err := e.FairMutex(name).TryLockAsync(soon(t)).Wait(soon(t)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("TryLockAsync(%q) = %v, want ErrInvalid", name, err)
		}
		if _, err := e.Mutex(name).Inspect(soon(t)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("Inspect(%q) = %v, want ErrInvalid", name, err)
		}
	}
	if err := e.CountDownLatch("{order}:7").Wait(soon(t)); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Wait of a latch with a hash tag = %v, want ErrInvalid", err)
	}
	mustUnlock(t, mustLock(t, e.Mutex("{order}:7")))
}

func TestClusterCountsAsOneServerInAQuorum(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a, b := join(t, c), connect(t, c.Nodes[1].Addr())
	if _, err := engine.Quorum("stock", a, b); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Quorum of two engines on one cluster = %v, want ErrInvalid", err)
	}
}

// A cluster node is a single server to who says so.
func TestForcedSingleClientSeesNoCluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	server.MustDo("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	redistest.Await(t, "cluster_state:ok", func() bool { return server.Do("SET", "x", "1").Err() == nil })
	e := connect(t, server.Addr(), func(o *engine.Options) {
		o.Redis = rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true}
	})
	mustUnlock(t, mustLock(t, e.Mutex("a{}b")))
}
