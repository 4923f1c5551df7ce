package engine_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
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
	t.Run("that was lost is extended by nobody, and was not unlocked", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")), engine.WithLease(time.Minute))
		_, err := b.Mutex("a").ForceUnlock(b.Context())
		b.wantNil("ForceUnlock", err)
		if err := h.Extend(b.Context(), time.Minute); !errors.Is(err, engine.ErrLost) || errors.Is(err, engine.ErrUnlocked) {
			b.Errorf("Extend: %v, want ErrLost alone", err)
		}
	}))
	t.Run("is abandoned without a trace", specClean(engine.Options{}, func(b *bubble) {
		taken := b.lock(b.Mutex("b"))
		ctx, cancel := context.WithCancel(b.Context())
		f := testkit.Multi(b, b.Mutex("a"), b.Mutex("b")).LockAsync(ctx)
		time.Sleep(time.Second)
		cancel()
		_, err := f.Wait(b.Context())
		b.wantIs("the future", err, context.Canceled)
		b.unlock(taken)
		time.Sleep(3 * time.Second)
	}))
	t.Run("gives up when its wait is over", specClean(engine.Options{}, func(b *bubble) {
		taken := b.lock(b.Mutex("b"))
		start := time.Now()
		_, err := testkit.Multi(b, b.Mutex("a"), b.Mutex("b")).Lock(b.Context(), engine.WithWait(3*time.Second))
		b.wantIs("Lock", err, engine.ErrWaitTimeout, engine.ErrHeld)
		if waited := time.Since(start); waited < 3*time.Second || waited > 3100*time.Millisecond {
			b.Errorf("waited for %v, want 3s", waited)
		}
		b.unlock(taken)
	}))
	t.Run("does not wait for one that names the same in another order", spec(engine.Options{}, func(b *bubble) {
		x, y := b.lock(b.Mutex("x")), b.lock(b.Mutex("y"))
		one, other := b.queue(testkit.Multi(b, b.Mutex("x"), b.Mutex("y"))), b.queue(testkit.Multi(b, b.Mutex("y"), b.Mutex("x")))
		b.unlock(y)
		b.unlock(x)
		b.unlock(one.wantGrantedNow())
		b.unlock(other.wantGrantedNow())
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

// What a call had taken is free when it says that it failed.
// invariant: multi-all-or-nothing
func TestAMultiLockThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	brief := 100 * time.Millisecond
	for how, fail := range map[string]func(context.Context, *engine.MultiLock) error{
		"TryLock": func(ctx context.Context, m *engine.MultiLock) error { return testkit.ResultOf(m.TryLock(ctx)) },
		"TryLockAsync": func(ctx context.Context, m *engine.MultiLock) error {
			return testkit.ResultOf(m.TryLockAsync(ctx).Wait(context.Background()))
		},
		"Lock WithWait": func(ctx context.Context, m *engine.MultiLock) error {
			return testkit.ResultOf(m.Lock(ctx, engine.WithWait(brief)))
		},
		"Lock, whose context ends": func(ctx context.Context, m *engine.MultiLock) error {
			ctx, cancel := context.WithTimeout(ctx, brief)
			defer cancel()
			return testkit.ResultOf(m.Lock(ctx))
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			virtual.Test(t, func(w *virtual.World) {
				ctx := w.T.Context()
				e, _ := w.Connect()
				other, _ := w.Connect()
				testkit.MustLock(w.T, other.Mutex("c"))
				first := testkit.MustLock(w.T, other.Mutex("a"))
				time.AfterFunc(10*time.Millisecond, func() { first.UnlockAsync() }) // a Lock waits for it, and has it while it waits for c
				if how == "TryLock" || how == "TryLockAsync" {
					time.Sleep(20 * time.Millisecond)
				}
				began := time.Now()
				if err := fail(ctx, testkit.Multi(w.T, e.Mutex("a"), e.Mutex("b"), e.Mutex("c"))); !errors.Is(err, engine.ErrHeld) {
					w.T.Errorf("%v, want ErrHeld", err)
				}
				if took := time.Since(began); took > brief+25*time.Millisecond {
					w.T.Errorf("it took %v", took)
				}
				if keys := w.Server.Keys(); slices.Contains(keys, "a") || slices.Contains(keys, "b") {
					w.T.Errorf("%q stand in Redis, want neither a nor b", keys)
				}
			})
		})
	}
	t.Run("not even a count of an Owner", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.another(engine.Options{}).Mutex("b"))
		owner := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("a"), owner)
		b.wantIs("TryLock", testkit.ResultOf(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")).TryLock(b.Context(), owner)), engine.ErrHeld)
		if n := h.Count(); n != 1 {
			b.Errorf("the Owner has %d holds, want 1", n)
		}
	}))
	t.Run("but not for longer than a tenth of AnswerTimeout when its time is over and Redis is silent", func(t *testing.T) {
		t.Parallel()
		virtual.Test(t, func(w *virtual.World) {
			e, l := w.Connect()
			other, _ := w.Connect()
			testkit.MustLock(w.T, other.Mutex("b"))
			a := testkit.MustLock(w.T, other.Mutex("a"))
			time.AfterFunc(10*time.Millisecond, func() { a.UnlockAsync() })
			time.AfterFunc(50*time.Millisecond, func() { l.Down.Lose(time.Now().Add(time.Hour)) })
			began := time.Now()
			_, err := testkit.Multi(w.T, e.Mutex("a"), e.Mutex("b")).Lock(w.T.Context(), engine.WithWait(brief))
			if took := time.Since(began); !errors.Is(err, engine.ErrWaitTimeout) || took < 2*brief || took > 2*brief+25*time.Millisecond {
				w.T.Errorf("%v after %v, want ErrWaitTimeout after %v", err, took, 2*brief)
			}
		})
	})
}

// A MultiLock has its turn in the lines of its names, beside callers that want one name each.
// invariant: multi-all-or-nothing
func TestAMultiLockHasItsTurn(t *testing.T) {
	t.Parallel()
	for what, rivals := range map[string]struct {
		names, callers int
		apart          bool // each name's callers have an engine of their own
	}{
		"two names":                   {2, 3, false},
		"two names, of other engines": {2, 3, true},
		"four names":                  {4, 2, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			virtual.Test(t, func(w *virtual.World) {
				e, _ := w.Connect()
				ctx, stop := context.WithTimeout(w.T.Context(), 2*time.Second)
				defer stop()
				var wg sync.WaitGroup
				var ones, alls int
				var mu sync.Mutex
				use := func(l engine.Locker, n *int) {
					for ctx.Err() == nil {
						h, err := l.Lock(ctx)
						if err != nil {
							return
						}
						mu.Lock()
						*n++
						mu.Unlock()
						time.Sleep(time.Millisecond)
						h.Unlock(context.Background())
					}
				}
				names := []string{"a", "b", "c", "d"}[:rivals.names]
				for _, name := range names {
					by := e
					if rivals.apart {
						by, _ = w.Connect()
					}
					for range rivals.callers {
						wg.Go(func() { use(by.Mutex(name), &ones) })
					}
				}
				all, err := e.All(names...)
				testkit.Must(w.T, err)
				use(all, &alls)
				wg.Wait()
				if alls*100 < ones || ones < 400 {
					w.T.Errorf("%d grants of %d names beside %d of one", alls, rivals.names, ones)
				}
			})
		})
	}
}

// Names are kept for a bounded time: by a call that waits for another one, and by calls that wait for each other.
// invariant: multi-all-or-nothing
func TestAMultiLockKeepsNamesForABoundedTime(t *testing.T) {
	t.Parallel()
	t.Run("while it waits for one that is held for long", spec(engine.Options{}, func(b *bubble) {
		long, a := b.lock(b.Mutex("b")), b.lock(b.Mutex("a"))
		w := b.queue(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")))
		b.unlock(a)
		began := time.Now()
		for range 3 {
			b.unlock(b.lock(b.Mutex("a")))
		}
		if took := time.Since(began); took < 125*time.Millisecond || took > 300*time.Millisecond {
			b.Errorf("others waited for %v, want 125 to 250ms", took)
		}
		time.Sleep(time.Minute)
		b.wantKeys("b")
		b.unlock(long)
		b.unlock(w.wantGrantedNow())
	}))
	t.Run("while its holder of one waits for another", spec(engine.Options{}, func(b *bubble) {
		second, a := b.lock(b.Mutex("b")), b.lock(b.Mutex("a"))
		w := b.queue(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")))
		b.unlock(a)
		began := time.Now()
		first := b.lock(b.Mutex("a")) // while it has b
		if took := time.Since(began); took > 300*time.Millisecond {
			b.Errorf("it waited for %v, want 250ms at most", took)
		}
		b.unlock(first)
		b.unlock(second)
		b.unlock(w.granted())
	}))
	t.Run("and a fixed lease counts from the last name", spec(engine.Options{}, func(b *bubble) {
		second, a := b.lock(b.Mutex("b")), b.lock(b.Mutex("a"))
		w := b.queue(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")), engine.WithLease(time.Second))
		b.unlock(a)
		time.Sleep(100 * time.Millisecond)
		b.unlock(second)
		if left := time.Until(w.granted().Deadline()); left < 980*time.Millisecond {
			b.Errorf("the lease has %v left, want a second", left)
		}
	}))
	t.Run("which is less than MaxHold", spec(engine.Options{MaxHold: time.Second}, func(b *bubble) {
		fixed := engine.WithLease(time.Minute)
		held := []*engine.Hold{b.lock(b.Mutex("a"), fixed), b.lock(b.Mutex("b"), fixed)}
		w := b.queue(testkit.Multi(b, b.Mutex("a"), b.Mutex("b")))
		for i := range 10 { // its patience grows
			time.Sleep(20 * time.Second)
			b.unlock(held[i%2])
			held[i%2] = b.lock(b.Mutex(string("ab"[i%2])), fixed) // when it has been given back
		}
		if lost := b.Stats().Lost; lost > 0 {
			b.Errorf("%d holds ended otherwise than by Unlock", lost)
		}
		b.unlock(held[0])
		b.unlock(held[1])
		b.unlock(w.granted())
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

// Through two engines one key is two members that wait for each other: the MultiLock would never be held.
// invariant: multi-all-or-nothing
func TestMultiRefusesOneKeyThroughTwoEngines(t *testing.T) {
	server, elsewhere := redistest.Start(t), redistest.Start(t)
	a, b := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	database := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Redis.SelectDB = 1 })
	prefixed := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.NameMapper = func(name string) string { return "shop:" + name } })
	other := testkit.Connect(t, elsewhere.Addr())
	quorum, err := engine.Quorum("stock:7", b, other)
	testkit.Must(t, err)
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
