package testkit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// Join makes an engine on a cluster until the end of the test. It is told one address; the rest it finds.
func Join(tb testing.TB, c *redistest.Cluster, change ...func(*engine.Options)) *engine.Engine {
	tb.Helper()
	return Connect(tb, c.Nodes[0].Addr(), change...)
}

// Spread are names, one or more on every master, and in hash slots of their own.
func Spread(room string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s:%d", room, i)
	}
	return names
}

// KeysIn lists what stands in the masters of a cluster.
func KeysIn(c *redistest.Cluster) (keys []string) {
	for _, node := range c.Nodes {
		keys = append(keys, node.Keys()...)
	}
	return keys
}

// Lockers are all locks with one holder, under names of their own.
func Lockers(e *engine.Engine, name string) []engine.Locker {
	return []engine.Locker{
		e.Mutex(name + ":m"), e.FencedMutex(name + ":f"), e.SpinMutex(name + ":s"), e.FairMutex(name + ":q"), e.RWMutex(name + ":rw").Writer(), e.RWMutex(name + ":r").Reader(),
	}
}

// HandOver has one engine wait for what another holds, and get it.
func HandOver(t *testing.T, from, to []engine.Locker) {
	for i := range from {
		held := MustLock(t, from[i])
		waiter := to[i].LockAsync(Soon(t))
		if i < len(from)-1 { // readers share
			if _, err := to[i].TryLock(Soon(t)); !errors.Is(err, engine.ErrHeld) {
				t.Errorf("TryLock(%s) = %v, want ErrHeld", to[i].Name(), err)
			}
		}
		MustUnlock(t, held)
		h, err := waiter.Wait(Soon(t))
		if err != nil {
			t.Errorf("Lock(%s): %v", to[i].Name(), err)
			continue
		}
		MustUnlock(t, h)
	}
}

func EveryKind(t *testing.T, a, b *engine.Engine, name string) {
	HandOver(t, Lockers(a, name), Lockers(b, name))
	ctx := Soon(t)
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

	held := MustLock(t, a.Mutex(name+":seen"))
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
