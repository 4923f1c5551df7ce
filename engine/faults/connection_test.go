package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// A connection that is cut again and again leaves no orphan and strands nobody, and what callers are told is
// in the contract: a Lock waits, a TryLock is taken, not sent or uncertain, an Unlock works or waits. Another program takes part, so that
// waiters depend on messages too.
func TestFaultConnectionCutEvery30ms(t *testing.T) {
	t.Parallel()
	virtual.Seeds(t, testkit.Times(t, 500, 4), func(w *virtual.World, random *rand.Rand) {
		e, l := w.Connect()
		const names = 4
		var inside [names]string // who believes to hold it
		grants := 0
		enter := func(n int, who string) {
			if inside[n] != "" {
				w.T.Errorf("%s and %s hold name %d", inside[n], who, n)
			}
			inside[n] = who
			grants++
		}
		var mu sync.Mutex // guards what is above, and random; never held while blocking
		within := func(d time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(random.Int64N(int64(d)))
		}
		until := time.Now().Add(2 * time.Second)
		over := func() bool { return time.Now().After(until) }
		stop := testkit.Every(w.T, 30*time.Millisecond, l.Cut)
		var callers sync.WaitGroup
		for i := range 3 * names {
			n, name := i%names, fmt.Sprintf("contest:%d", i%names)
			hold := func(who string) {
				mu.Lock()
				enter(n, who)
				mu.Unlock()
				time.Sleep(within(2 * time.Millisecond))
				mu.Lock()
				inside[n] = ""
				mu.Unlock()
			}
			callers.Go(func() {
				for !over() && !w.T.Failed() {
					time.Sleep(within(5 * time.Millisecond))
					var h *engine.Hold
					var err error
					switch i / names {
					case 0: // another program
						if w.Try(name, 10*time.Second) {
							hold("another program")
							w.Free(name)
						}
						continue
					case 1:
						h, err = e.Mutex(name).TryLock(context.Background())
						if testkit.IsAny(err, engine.ErrHeld, engine.ErrNotSent, engine.ErrUncertain) {
							continue
						}
					default:
						h, err = e.Mutex(name).Lock(testkit.Soon(w.T))
					}
					if err == nil {
						hold(fmt.Sprint("caller ", i))
						if got := w.Owners(name); h.Err() == nil && !slices.Equal(got, []string{h.TenureID(), "1"}) {
							w.T.Errorf("%s is held, and in Redis stands %q", h, got)
						}
						err = h.Unlock(testkit.Soon(w.T))
					}
					if err != nil {
						w.T.Errorf("caller %d: %v", i, err)
					}
				}
			})
		}
		callers.Wait()
		stop()
		if grants < 100 {
			w.T.Errorf("only %d grants", grants)
		}
		time.Sleep(5 * time.Second)
		w.Quiet(e, 0)
	})
}

// An acquire that reaches Redis after its connection was given up, and after the clean-up for it has passed,
// makes no orphan: the script refuses it when it is late, and it is released again when it is not.
// invariant: late-acquire-does-nothing
func TestFaultAcquireDeliveredAfterItsCleanUp(t *testing.T) {
	t.Parallel()
	stood := 0
	virtual.Seeds(t, testkit.Times(t, 1000, 12), func(w *virtual.World, random *rand.Rand) {
		e, l := w.Connect(testkit.Lease(time.Second)) // a short lease finds a dead link fast
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("before")))
		late := time.Second + time.Duration(random.Int64N(int64(4*time.Second)))
		l.HoldUp(time.Now().Add(late)) // new connections get through
		var callers sync.WaitGroup
		for i := range 20 {
			patience := time.Duration(100+random.IntN(500)) * time.Millisecond
			callers.Go(func() {
				name, day := fmt.Sprintf("late:%d", i), engine.WithLease(24*time.Hour) // so long the key would stand
				if i%2 == 0 {
					if h, err := e.Mutex(name).TryLock(context.Background(), day); err == nil {
						testkit.MustUnlock(w.T, h) // by another connection
					} else if !testkit.IsAny(err, engine.ErrUncertain, engine.ErrNotSent) {
						w.T.Errorf("a try without an answer: %v", err)
					}
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if h, err := e.Mutex(name).Lock(ctx, day); err == nil {
					testkit.MustUnlock(w.T, h)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					w.T.Errorf("a lock without an answer: %v", err)
				}
			})
		}
		callers.Wait()
		most := 0
		for began := time.Now(); time.Since(began) < late; time.Sleep(time.Millisecond) {
			most = max(most, len(w.Server.Keys()))
		}
		stood = max(stood, most)
		time.Sleep(2 * time.Second)
		w.Quiet(e, 0)
	})
	t.Logf("at most %d keys stood of acquires that were delivered late", stood)
}
