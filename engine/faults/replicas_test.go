package faults_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
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

// kindsWith are the ways to have something of a name, each asking once and waiting; free gives it back.
var kindsWith = map[string]func(e *engine.Engine, name string, try bool, opts ...engine.LockOption) (free func(context.Context) error, err error){
	"Mutex":                    lockOf(func(e *engine.Engine, name string) engine.Locker { return e.Mutex(name) }),
	"Mutex with a fixed lease": lockOf(func(e *engine.Engine, name string) engine.Locker { return e.Mutex(name) }, engine.WithLease(time.Minute)),
	"FencedMutex":              lockOf(func(e *engine.Engine, name string) engine.Locker { return e.FencedMutex(name) }),
	"SpinMutex":                lockOf(func(e *engine.Engine, name string) engine.Locker { return e.SpinMutex(name) }),
	"SimpleMutex":              lockOf(func(e *engine.Engine, name string) engine.Locker { return e.SimpleMutex(name) }),
	"FairMutex":                lockOf(func(e *engine.Engine, name string) engine.Locker { return e.FairMutex(name) }),
	"Reader":                   lockOf(func(e *engine.Engine, name string) engine.Locker { return e.RWMutex(name).Reader() }),
	"Writer":                   lockOf(func(e *engine.Engine, name string) engine.Locker { return e.RWMutex(name).Writer() }),
	"PermitSemaphore": func(e *engine.Engine, name string, try bool, opts ...engine.LockOption) (func(context.Context) error, error) {
		acquire := e.PermitSemaphore(name).Acquire
		if try {
			acquire = e.PermitSemaphore(name).TryAcquire
		}
		ctx, stop := patience()
		defer stop()
		h, err := acquire(ctx, 2, opts...)
		if err != nil {
			return nil, err
		}
		return h.Unlock, nil
	},
	"Semaphore": func(e *engine.Engine, name string, try bool, opts ...engine.LockOption) (func(context.Context) error, error) {
		ctx, stop := patience()
		defer stop()
		var err error
		if s := e.Semaphore(name); try {
			err = s.TryAcquire(ctx, 2)
		} else {
			err = s.Acquire(ctx, 2, opts...)
		}
		return func(ctx context.Context) error { return e.Semaphore(name).Release(ctx, 2) }, err
	},
}

func lockOf(of func(*engine.Engine, string) engine.Locker, lease ...engine.LockOption) func(*engine.Engine, string, bool, ...engine.LockOption) (func(context.Context) error, error) {
	return func(e *engine.Engine, name string, try bool, opts ...engine.LockOption) (func(context.Context) error, error) {
		l := of(e, name)
		lock := l.Lock
		if try {
			lock = l.TryLock
		}
		ctx, stop := patience()
		defer stop()
		h, err := lock(ctx, append(opts, lease...)...)
		if err != nil {
			return nil, err
		}
		return h.Unlock, nil
	}
}

// patience is a context with a deadline far away: without one, who asks once has no answer on a busy machine after a second.
func patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 2*testkit.Patience)
}

// answered asks until the last answer is there: on a busy machine the link ends now and then.
func answered(ask func() error) (err error) {
	for range 10 {
		if err = ask(); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNotReplicated) {
			break
		}
	}
	return err
}

// permitsOf makes the permits that the semaphores of kindsWith take.
func permitsOf(t *testing.T, e *engine.Engine, name string) {
	t.Helper()
	for _, set := range []func(context.Context, string) (bool, error){
		func(ctx context.Context, name string) (bool, error) {
			return e.PermitSemaphore(name).TrySetPermits(ctx, 2)
		},
		func(ctx context.Context, name string) (bool, error) { return e.Semaphore(name).TrySetPermits(ctx, 2) },
	} {
		if strings.HasPrefix(name, "Semaphore") != strings.HasPrefix(name, "PermitSemaphore") {
			if _, err := set(testkit.Soon(t), name); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// With one replica fewer than Replicas asks for nothing is granted, whatever its kind, and nothing is left behind;
// who waits gets it when there are enough. Then also what takes a renewal is granted.
func TestFaultReplicasMissing(t *testing.T) {
	t.Parallel()
	for _, connected := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d of %d", connected, connected+1), func(t *testing.T) {
			t.Parallel()
			master := redistest.Start(t)
			for range connected {
				redistest.StartReplica(t, master)
			}
			e := testkit.Connect(t, master.Addr(), testkit.Replicas(connected+1), testkit.Lease(3*time.Second))
			var asked, waiting sync.WaitGroup
			for kind, take := range kindsWith {
				permitsOf(t, e, kind)
				asked.Go(func() {
					if err := answered(func() error { return testkit.ResultOf(take(e, kind, true)) }); !errors.Is(err, engine.ErrNotReplicated) || !errors.Is(err, engine.ErrUnavailable) {
						t.Errorf("%s, asking once: %v, want ErrNotReplicated", kind, err)
					}
					err := answered(func() error { return testkit.ResultOf(take(e, kind, false, engine.WithWait(3*time.Second))) })
					if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrNotReplicated) || errors.Is(err, engine.ErrHeld) {
						t.Errorf("%s, waiting: %v, want ErrWaitTimeout and ErrNotReplicated", kind, err)
					}
				})
			}
			asked.Wait()
			for kind, take := range kindsWith {
				waiting.Go(func() {
					free, err := take(e, kind, false, engine.WithWait(testkit.Patience))
					if err == nil {
						err = testkit.Patiently(free)
					}
					if err != nil {
						t.Errorf("%s, with enough replicas in the end: %v", kind, err)
					}
				})
			}
			if stats := e.Stats(); stats.Held != 0 || stats.Granted != 0 {
				t.Errorf("held = %d, granted = %d", stats.Held, stats.Granted)
			}
			redistest.StartReplica(t, master)
			waiting.Wait()
			for _, kind := range []string{"PermitSemaphore", "Semaphore"} {
				if left := master.MustDo("GET", kind).Text; left != "2" {
					t.Errorf("%s: %s permits are left of 2", kind, left)
				}
			}
			redistest.Await(t, "nothing to be left", func() bool {
				keys := slices.DeleteFunc(master.Keys(), func(key string) bool {
					return strings.Contains(key, "Semaphore") || strings.HasPrefix(key, "redisson_lock_token:") // permits, receipts and tokens stay
				})
				return len(keys) == 0 && e.Stats().Waiting == 0
			})
		})
	}
}

// A replica that stands still has nothing: holds that need it end at their deadlines, which no renewal moves, and
// those who wait get their locks when it goes on.
func TestFaultReplicaStalled(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	e := testkit.Connect(t, master.Addr(), testkit.Replicas(1), testkit.Lease(2*time.Second))
	for range testkit.Times(t, 20, 1) {
		h := testkit.MustLock(t, e.Mutex("held"))
		replica.Freeze()
		deadline := h.Deadline()
		waits := e.Mutex("waits").LockAsync(testkit.Soon(t))
		if err := testkit.MustEnd(t, h); !errors.Is(err, engine.ErrLost) {
			t.Errorf("the hold ended with %v", err)
		}
		if h.Deadline().After(deadline.Add(2 * time.Second)) { // one renewal may have come before the replica stood
			t.Errorf("the deadline moved by %v", h.Deadline().Sub(deadline))
		}
		mustWait(t, "Lock", waits)
		replica.Thaw()
		mustGet(t, waits)
	}
	testkit.CheckQuiet(t, master, e, 0)
}

// A connection that waits for replicas holds up whatever comes behind: what gives locks back never goes there.
// invariant: replicas-acknowledge
func TestFaultReplicasHoldUpNoRelease(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplica(t, master)
	monitor := master.Monitor()
	e := testkit.Connect(t, master.Addr(), testkit.Replicas(1))
	for i := range 20 {
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex(fmt.Sprintf("order:%d", i))))
	}
	lines := monitor.Stop()
	from := func(words string) []string {
		var addrs []string
		for _, line := range lines {
			if before, _, found := strings.Cut(line, words); found && !strings.Contains(line, "[0 lua]") {
				addrs = append(addrs, strings.TrimSpace(before[strings.IndexByte(before, '['):]))
			}
		}
		slices.Sort(addrs)
		return slices.Compact(addrs)
	}
	waits, releases, acquires := from(`"WAIT" "1"`), from(`"EVALSHA" "`+testkit.Digest(scripts.Release)), from(`"EVALSHA" "`+testkit.Digest(scripts.Acquire))
	if len(waits) == 0 || len(releases) == 0 || len(acquires) == 0 {
		t.Fatalf("connections that wait %q, release %q, acquire %q", waits, releases, acquires)
	}
	for _, addr := range releases {
		if slices.Contains(waits, addr) {
			t.Errorf("%s waits for replicas and carries releases", addr)
		}
	}
}

// The master dies under load: each lock that somebody holds stands on every replica, whichever takes over.
// invariant: replicas-acknowledge
func TestFaultReplicasHaveWhatIsHeld(t *testing.T) {
	t.Parallel()
	for round := range testkit.Times(t, 50, 2) {
		master := redistest.Start(t)
		both := []*redistest.Server{redistest.StartReplica(t, master), redistest.StartReplica(t, master)}
		e := testkit.Connect(t, master.Addr(), testkit.Replicas([]int{2, engine.AllReplicas}[round%2]))
		ctx, stop := context.WithCancel(t.Context()) // which ends when the test fails, before the engine is closed
		var mu sync.Mutex                            // guards holds
		var holds []*engine.Hold
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					h, err := e.Mutex(fmt.Sprintf("held:%d:%d", i, n)).Lock(ctx)
					if err != nil {
						time.Sleep(5 * time.Millisecond) // sleeps: the pace of calls: the master has died
						continue
					}
					mu.Lock()
					holds = append(holds, h)
					mu.Unlock()
				}
			})
		}
		redistest.Await(t, "locks to be held", func() bool { return e.Stats().Held > 200 })
		master.Kill()
		stop()
		callers.Wait()
		for _, replica := range both {
			replica.MustDo("REPLICAOF", "NO", "ONE") // it takes over
			for _, h := range holds {
				if h.Err() == nil && !slices.Equal(testkit.Owners(replica, h.Name()), []string{h.TenureID(), "1"}) {
					t.Errorf("%s is held, and not on the replica", h)
				}
			}
			replica.Kill()
		}
		t.Logf("%d locks were held when the master died", len(holds))
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// In a cluster each master has its own replicas, which are waited for where the name lies.
func TestFaultReplicasInACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	enough, tooMany := testkit.Join(t, c, testkit.Replicas(1)), testkit.Join(t, c, testkit.Replicas(2), testkit.Lease(3*time.Second))
	all := testkit.Join(t, c, testkit.Replicas(engine.AllReplicas))
	var callers sync.WaitGroup
	for _, name := range testkit.Spread("order", 12) {
		callers.Go(func() {
			for _, e := range []*engine.Engine{enough, all} {
				h, err := e.Mutex(name).Lock(context.Background())
				if err == nil {
					err = testkit.Patiently(h.Unlock)
				}
				if err != nil {
					t.Errorf("%s, with a replica: %v", name, err)
				}
			}
			err := answered(func() error { return testkit.ResultOf(tooMany.Mutex(name).TryLock(testkit.Soon(t))) })
			if !errors.Is(err, engine.ErrNotReplicated) {
				t.Errorf("%s, with one of two: %v, want ErrNotReplicated", name, err)
			}
		})
	}
	callers.Wait()
	redistest.Await(t, "nothing to be left", func() bool { return len(testkit.KeysIn(c)) == 0 })
}

// An address may lead to another master from now on, while the connections to the old one, a replica now, go on.
func TestFaultMasterBehindAnAddress(t *testing.T) {
	t.Parallel()
	old := redistest.Start(t)
	replica := redistest.StartReplica(t, old)
	var master atomic.Pointer[redistest.Server]
	master.Store(old)
	e := testkit.Connect(t, "master:6379", func(o *engine.Options) {
		o.Redis.DialCtxFn = func(ctx context.Context, _ string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", master.Load().Addr())
		}
	})
	h := testkit.MustLock(t, e.Mutex("held"))
	redistest.Await(t, "the lock to be on the replica", func() bool { return replica.MustDo("EXISTS", "held").Int == 1 })
	replica.MustDo("REPLICAOF", "NO", "ONE")
	master.Store(replica)
	old.MustDo("REPLICAOF", "127.0.0.1", strings.TrimPrefix(replica.Addr(), "127.0.0.1:"))
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("free")))
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, replica, e, 0)
}
