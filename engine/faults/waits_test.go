package faults_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// asker is one kind of lock, as its callers ask for it.
type asker struct {
	name string
	lock func(context.Context, ...engine.LockOption) (*engine.Hold, error)
	try  func(context.Context, ...engine.LockOption) (*engine.Hold, error)
}

func lockerOf(name string, l engine.Locker) asker { return asker{name, l.Lock, l.TryLock} }

// askers are all kinds, each under a name of its own. e and other are on different servers.
func askers(t *testing.T, e, other, third *engine.Engine) []asker {
	t.Helper()
	permits, pool := e.PermitSemaphore("permits"), e.Semaphore("pool")
	for name, set := range map[string]func(context.Context, int64) (bool, error){"permits": permits.TrySetPermits, "pool": pool.TrySetPermits} {
		if _, err := set(testkit.Soon(t), 5); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	quorum, err := engine.Quorum("quorum", e, other, third)
	if err != nil {
		t.Fatal(err)
	}
	taken := func(err error) (*engine.Hold, error) { return nil, err } // a semaphore has no holds
	return []asker{
		lockerOf("mutex", e.Mutex("mutex")), lockerOf("fenced", e.FencedMutex("fenced")), lockerOf("spin", e.SpinMutex("spin")),
		lockerOf("fair", e.FairMutex("fair")), lockerOf("reader", e.RWMutex("read").Reader()), lockerOf("writer", e.RWMutex("write").Writer()),
		lockerOf("multi", testkit.Multi(t, e.Mutex("m1"), e.Mutex("m2"))), lockerOf("quorum", quorum),
		{"permits",
			func(ctx context.Context, opts ...engine.LockOption) (*engine.Hold, error) {
				return permits.Acquire(ctx, 1, opts...)
			},
			func(ctx context.Context, opts ...engine.LockOption) (*engine.Hold, error) {
				return permits.TryAcquire(ctx, 1, opts...)
			}},
		{"semaphore",
			func(ctx context.Context, opts ...engine.LockOption) (*engine.Hold, error) {
				return taken(pool.Acquire(ctx, 1, opts...))
			},
			func(ctx context.Context, opts ...engine.LockOption) (*engine.Hold, error) {
				return taken(pool.TryAcquire(ctx, 1, opts...))
			}},
	}
}

// A master that has no replica yet takes no locks for a while: who waits waits as it was asked to and is served soon
// after, and who does not is told at once and in the words of the server.
func TestLockWaitsThroughWhatPasses(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		words     string
		set, mend []string
	}{
		{"NOREPLICAS", []string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{"OOM", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		{"READONLY", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
	} {
		t.Run(fault.words, func(t *testing.T) {
			t.Parallel()
			servers := []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)}
			engines := make([]*engine.Engine, len(servers))
			for i, s := range servers {
				engines[i] = testkit.Connect(t, s.Addr())
			}
			all := askers(t, engines[0], engines[1], engines[2])
			do := func(command []string) {
				for _, s := range servers {
					s.MustDo(command...)
				}
			}
			do(fault.set)
			before, begun := servers[0].CommandCounts()["evalsha"], time.Now()
			var waiting, refused sync.WaitGroup
			refused.Add(len(all))
			pace := testkit.Pace(t, func() { servers[0].Do("PING") })
			var mended time.Duration // by pace; set before granted is closed
			granted := make(chan struct{})
			for _, a := range all {
				began := pace()
				if _, err := a.try(testkit.Soon(t)); !errors.Is(err, engine.ErrRefused) || pace()-began > time.Second {
					t.Errorf("%s, asked once: %v after %v, want ErrRefused at once", a.name, err, pace()-began)
				} else {
					testkit.Mentions(t, err, fault.words)
				}
				waiting.Go(func() {
					_, err := a.lock(context.Background(), engine.WithWait(time.Second))
					for wait := 2 * time.Second; !errors.Is(err, engine.ErrRefused) && wait < testkit.Patience; wait *= 2 { // a busy machine had no answer
						_, err = a.lock(context.Background(), engine.WithWait(wait))
					}
					refused.Done()
					if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrRefused) {
						t.Errorf("%s, waiting for 1s or more: %v, want ErrWaitTimeout that is ErrRefused", a.name, err)
					} else {
						testkit.Mentions(t, err, fault.words)
						if strings.Contains(err.Error(), "script") {
							t.Errorf("%s: %v", a.name, err)
						}
					}
					h, err := a.lock(testkit.Soon(t))
					late := pace()
					<-granted
					if err != nil || late-mended > 500*time.Millisecond {
						t.Errorf("%s, waiting: %v, %v after the end of it, want a grant within 500ms", a.name, err, late-mended)
					}
					if h != nil {
						testkit.MustUnlock(t, h)
					}
				})
			}
			refused.Wait()
			took := time.Since(begun)
			asked := servers[0].CommandCounts()["evalsha"] - before
			do(fault.mend)
			mended = pace()
			close(granted)
			waiting.Wait()
			if most := int64(float64(len(all)*30) * took.Seconds()); asked > most {
				t.Errorf("%d calls of scripts within %v, want at most %d", asked, took, most)
			}
		})
	}
}

// On a link whose round trip is longer than a lease, who asks once is told so at once, and who waits is told so when its
// wait is over; both ask rarely.
func TestALeaseShorterThanTheRoundTripIsTold(t *testing.T) {
	t.Parallel()
	server, second, third := redistest.Start(t), redistest.Start(t), redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	all := askers(t, e, testkit.Connect(t, second.Addr()), testkit.Connect(t, third.Addr()))
	proxy.Latency(redistest.Both, 10*time.Millisecond, 0)
	for _, a := range all {
		if a.name == "semaphore" || a.name == "quorum" { // no lease; a majority without delay
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			for doing, ask := range map[string]func(context.Context) error{
				"asked once": func(ctx context.Context) error {
					_, err := a.try(ctx, engine.WithLease(20*time.Millisecond))
					return err
				},
				"waiting": func(ctx context.Context) error {
					_, err := a.lock(ctx, engine.WithLease(20*time.Millisecond), engine.WithWait(500*time.Millisecond))
					return err
				},
			} {
				before, began := server.CommandCounts()["evalsha"], time.Now()
				err := ask(testkit.Soon(t))
				took, asked := time.Since(began), server.CommandCounts()["evalsha"]-before
				t.Logf("%s: %v after %v, %d calls", doing, err, took.Round(time.Millisecond), asked)
				if !errors.Is(err, engine.ErrUncertain) || errors.Is(err, engine.ErrWaitTimeout) != (doing == "waiting") || took > 2*time.Second || asked > 40 {
					t.Errorf("%s: %v after %v, %d calls", doing, err, took.Round(time.Millisecond), asked)
				} else if a.name != "multi" {
					testkit.Mentions(t, err, "the lease of 20ms")
					testkit.Mentions(t, err, "ask with a longer lease")
				}
			}
		})
	}
}
