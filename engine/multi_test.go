package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// invariant: multi-all-or-nothing
func TestMultiLock(t *testing.T) {
	t.Parallel()
	t.Run("holds all or nothing", spec(engine.Options{}, func(b *bubble) {
		m := testkit.Multi(b, b.Mutex("a"), b.FencedMutex("b"), b.SpinMutex("c"))
		taken := b.lock(b.FencedMutex("b"))
		_, err := m.TryLock(b.Context())
		b.wantIs("TryLock with one member taken", err, engine.ErrHeld)
		time.Sleep(time.Second)
		b.wantKeys("b", "redisson_lock_token:{b}")
		b.unlock(taken)
		h := b.lock(m)
		b.wantKeys("a", "b", "c", "redisson_lock_token:{b}")
		b.unlock(h)
		b.wantKeys("redisson_lock_token:{b}")
	}))
	t.Run("waits for the member that is taken, and holds none meanwhile", spec(engine.Options{}, func(b *bubble) {
		taken := b.lock(b.Mutex("b"))
		w := b.queue(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")))
		b.wantKeys("b")
		b.unlock(taken)
		b.unlock(w.granted())
	}))
	t.Run("gives the others back when one part is lost", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")))
		ctx := h.Context(b.Context())
		b.redis.Lose("a")
		time.Sleep(11 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		b.wantIs("the cause of its context", context.Cause(ctx), engine.ErrLost)
		b.wantKeys()
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
	}))
	t.Run("that was lost is extended by nobody, and was not unlocked", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")), engine.WithLease(time.Minute))
		_, err := b.Mutex("a").ForceUnlock(b.Context())
		b.wantNil("ForceUnlock", err)
		if err := h.Extend(b.Context(), time.Minute); !errors.Is(err, engine.ErrLost) || errors.Is(err, engine.ErrUnlocked) {
			b.Errorf("Extend: %v, want ErrLost alone", err)
		}
		b.wantKeys()
	}))
	t.Run("is abandoned without a trace", spec(engine.Options{}, func(b *bubble) {
		taken := b.lock(b.Mutex("b"))
		ctx, cancel := context.WithCancel(b.Context())
		f := testkit.Multi(b, b.Mutex("a"), b.Mutex("b")).LockAsync(ctx)
		time.Sleep(time.Second)
		cancel()
		_, err := f.Wait(b.Context())
		b.wantIs("the future", err, context.Canceled)
		b.unlock(taken)
		time.Sleep(3 * time.Second)
		b.wantKeys()
	}))
	t.Run("gives up when its wait is over", spec(engine.Options{}, func(b *bubble) {
		taken := b.lock(b.Mutex("b"))
		start := time.Now()
		_, err := testkit.Multi(b, b.Mutex("a"), b.Mutex("b")).Lock(b.Context(), engine.WithWait(3*time.Second))
		b.wantIs("Lock", err, engine.ErrWaitTimeout, engine.ErrHeld)
		if waited := time.Since(start); waited < 3*time.Second || waited > 3100*time.Millisecond {
			b.Errorf("waited for %v, want 3s", waited)
		}
		b.unlock(taken)
		b.wantKeys()
	}))
	t.Run("has the earliest deadline, and extends every part", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")), engine.WithLease(2*time.Second))
		b.wantNil("Extend", h.Extend(b.Context(), 10*time.Second))
		if left := time.Until(h.Deadline()); left < 9*time.Second || left > 10*time.Second {
			b.Errorf("the deadline is %v away, want nearly 10s", left)
		}
		b.unlock(h)
	}))
}

// A holder that looks when the leases of all parts are over, before the loop does, looks at each once. It is not parallel: it counts what the
// process allocates.
func TestTheEndOfAMultiLockCostsTheSameForEachPart(t *testing.T) {
	t.Run("whose holder looks first", spec(engine.Options{}, func(b *bubble) {
		names := make([]string, 2000)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		m, err := b.All(names...)
		b.wantNil("All", err)
		h := b.lock(m, engine.WithLease(10*time.Second))
		time.Sleep(time.Until(h.Deadline()))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.wantIs("Err", h.Err(), engine.ErrLost)
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(names)); each > 4096 {
			b.Errorf("%d bytes for each of %d parts", each, len(names))
		}
	}))
}

func TestMultiRefusesBadMembers(t *testing.T) {
	spec(engine.Options{}, func(b *bubble) {
		for what, locks := range map[string][]engine.Locker{
			"no members":               nil,
			"a nil member":             {b.Mutex("a"), nil},
			"a nil Mutex":              {b.Mutex("a"), (*engine.Mutex)(nil)},
			"a nil MultiLock":          {b.Mutex("a"), (*engine.MultiLock)(nil)},
			"the same key twice":       {b.Mutex("a"), b.Mutex("a")},
			"the same key, other kind": {b.Mutex("a"), b.FencedMutex("a")},
			"a nested one":             {b.Mutex("a"), testkit.Multi(b, b.Mutex("b"), b.Mutex("a"))},
			"an empty name":            {b.Mutex("")},
		} {
			_, err := engine.Multi(locks...)
			b.wantIs(what, err, engine.ErrInvalid)
		}
	})(t)
}

// TestMultiLockNeverDeadlocks has callers of two engines take pairs of five names in random order.
// invariant: multi-all-or-nothing
func TestMultiLockNeverDeadlocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	names := []string{"a", "b", "c", "d", "e"}
	var inside [5]*engine.Hold
	var mu sync.Mutex
	var wg sync.WaitGroup
	for seed := range 2 {
		e := openAt(t, server.Addr(), patient)
		for caller := range 8 {
			random := rand.New(rand.NewPCG(uint64(seed), uint64(caller)))
			wg.Go(func() {
				for range 20 {
					x := random.IntN(5)
					y := (x + 1 + random.IntN(4)) % 5
					err := engine.Do(context.Background(), testkit.Multi(t, e.Mutex(names[x]), e.Mutex(names[y])), func(_ context.Context, h *engine.Hold) error {
						for _, i := range []int{x, y} {
							mu.Lock()
							if other := inside[i]; other != nil && other.Err() == nil {
								t.Errorf("two holders of %q at once", names[i])
							}
							inside[i] = h
							mu.Unlock()
						}
						time.Sleep(time.Duration(random.IntN(200)) * time.Microsecond) // sleeps: how long it is held
						mu.Lock()
						defer mu.Unlock()
						for _, i := range []int{x, y} {
							if inside[i] == h {
								inside[i] = nil
							}
						}
						return nil
					}, engine.WithWait(time.Minute))
					// What a release gave to a claim has a lease of 2 s, which a busy machine may miss.
					if err != nil && !testkit.IsAny(err, engine.ErrLost, engine.ErrUncertain) {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	redistest.Await(t, "no key is left", func() bool { return len(server.Keys()) == 0 })
}

// Through two engines one key is two members that wait for each other: the MultiLock would never be held.
// invariant: multi-all-or-nothing
func TestMultiRefusesOneKeyThroughTwoEngines(t *testing.T) {
	server, elsewhere := redistest.Start(t), redistest.Start(t)
	a, b := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	database := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Redis.SelectDB = 1 })
	prefixed := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.NameMapper = func(name string) string { return "shop:" + name } })
	other := testkit.Connect(t, elsewhere.Addr())
	quorum, err := engine.Quorum("stock:7", b, other)
	if err != nil {
		t.Fatal(err)
	}
	for what, members := range map[string][]engine.Locker{
		"one key":                  {a.Mutex("stock:7"), b.Mutex("stock:7")},
		"one key as two kinds":     {a.Mutex("stock:7"), other.Mutex("stock:7"), b.RWMutex("stock:7").Reader()},
		"one key after mapping":    {a.Mutex("shop:stock:7"), prefixed.Mutex("stock:7")},
		"one key, of a QuorumLock": {a.Mutex("stock:7"), quorum},
	} {
		if _, err := engine.Multi(members...); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	m, err := engine.Multi(a.Mutex("stock:7"), b.Mutex("stock:8"), database.Mutex("stock:7"), prefixed.Mutex("stock:7"), other.Mutex("stock:7"))
	if err != nil {
		t.Fatalf("different locks of one name: %v", err)
	}
	testkit.MustUnlock(t, testkit.MustLock(t, m))
}
