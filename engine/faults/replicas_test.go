package faults_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
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

// answered asks until the last answer is there: on a busy machine the link ends now and then.
func answered(ask func() error) (err error) {
	for range 10 {
		if err = ask(); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNotReplicated) {
			break
		}
	}
	return err
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
			var sources []source
			for _, k := range append(kindsOfAll, lockKind("simple", (*engine.Engine).SimpleMutex)) {
				if k.servers > 1 || !isHeld(&k) {
					continue
				}
				if k.permits {
					master.MustDo("SET", k.name, strconv.Itoa(several))
				}
				taken := k.source([]*engine.Engine{e}, k.name)
				sources = append(sources, taken)
				asked.Go(func() {
					once := func() error { return testkit.ResultOf(taken.try(testkit.Soon(t))) }
					if err := answered(once); !errors.Is(err, engine.ErrNotReplicated) || !errors.Is(err, engine.ErrUnavailable) {
						t.Errorf("%s, asking once: %v, want ErrNotReplicated", k.name, err)
					}
					err := answered(func() error { return testkit.ResultOf(taken.get(testkit.Soon(t), engine.WithWait(3*time.Second))) })
					if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrNotReplicated) || errors.Is(err, engine.ErrHeld) {
						t.Errorf("%s, waiting: %v, want ErrWaitTimeout and ErrNotReplicated", k.name, err)
					}
				})
			}
			asked.Wait()
			for _, taken := range sources {
				waiting.Go(func() {
					got, err := taken.get(testkit.Soon(t))
					if err == nil {
						err = testkit.Patiently(got.back)
					}
					if err != nil {
						t.Errorf("%+v, with enough replicas in the end: %v", taken, err)
					}
				})
			}
			if stats := e.Stats(); stats.Held != 0 || stats.Granted != 0 {
				t.Errorf("held = %d, granted = %d", stats.Held, stats.Granted)
			}
			redistest.StartReplica(t, master)
			waiting.Wait()
			redistest.Await(t, "nothing to be left", func() bool {
				keys := left(master.Keys(), func(key string) string { return master.Do("GET", key).Text })
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
		testkit.WantIs(t, "the hold", testkit.MustEnd(t, h), engine.ErrLost)
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
