package faults_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// Every trap below has caught some other lock on Redis. Here is the test that each would fall into.
//
//	unlock published before the subscription is complete    TestFaultTrapUnlockBeforeSubscribed
//	renewal that races its own cancelling                    TestFaultTrapNoRenewalAfterUnlock
//	inner unlock stops the renewal                           TestFaultTrapInnerUnlockKeepsRenewing
//	one failed renewal ends renewal for good                 TestFaultTrapRenewalGoesOnAfterErrors
//	renewal of one name aborted by another's error           TestFaultTrapRenewalIsNotAbortedByAnother
//	extend touches the wrong key                             TestFaultTrapExtendTouchesItsOwnKey
//	EVALSHA after a restart                                  TestFaultRestartWithoutPersistence, TestFaultScriptsFlushed
//	a client's wall clock in Redis                           TestFaultTrapNoWallClockInScripts
//	a repeated acquire that locks itself out                 TestFaultKindsSwallowedAnswersHaveOneEffect
//	a stale unlock that deletes the next lock                TestFaultTrapStaleUnlockSparesTheNext
//	busy loop after a lost event                             TestFaultTrapWaitingIsQuiet
//	cancelling that hangs                                    TestFaultTrapCancelReturnsAtOnce
//	order of waiters by the second                           TestSpecOrder
//	waiter cancelled exactly when granted                    TestFaultKindsCancelledCallsLeaveNothing, TestFaultCancelledWaiterSwallowsNoHandoff
//	messages held up by one slow receiver                    TestFaultTrapSlowCallbackHoldsUpNobody
//	timers that are never stopped                            TestFaultTrapNothingIsLeftOfUnlockedHolds
//	unlock with a context that has ended                     TestFaultTrapUnlockWithEndedContext
//
// The fair queue's drift and the fencing keys that are never deleted are traps of other kinds of locks.

// The name is freed after the acquire was refused and before the subscription is there: nobody hears the
// message, and only asking again after the subscription finds out. Here it is freed at each moment of five trips to the server.
// invariant: one-command-per-name
func TestFaultTrapUnlockBeforeSubscribed(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect(testkit.OnlyMessages)
		const trip = 20 * time.Millisecond
		l.Mend(func() time.Duration { return trip })
		unheard := 0
		for after := time.Duration(0); after < 5*trip; after += time.Millisecond {
			w.Take("gap", time.Hour)
			f := e.Mutex("gap").LockAsync(testkit.Soon(w.T))
			time.Sleep(after)
			if w.Listeners("gap") == 0 && after > trip {
				unheard++
			}
			w.Free("gap")
			mustGet(w.T, f)
			time.Sleep(2 * time.Second) // the subscription ends
		}
		if unheard < int(trip/time.Millisecond) {
			w.T.Errorf("freed %d times between the refusal and the subscription", unheard)
		}
		w.Quiet(e, 0)
	})
}

// A renewal on its way when the lock is given back must not bring it back to life, and none may follow.
// invariant: released-owner-is-dead
func TestFaultTrapNoRenewalAfterUnlock(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect(testkit.Lease(600 * time.Millisecond))
		l.Mend(func() time.Duration { return time.Millisecond })
		released, renewals, late := make(map[string]bool), 0, 0
		releases, renews := virtual.Runs(scripts.Release), virtual.Runs(scripts.Renew)
		w.Server.Hear(func(args []string) {
			for _, arg := range args {
				switch {
				case !strings.Contains(arg, ":") || strings.Contains(arg, "{"): // no owner's id
				case releases(args):
					released[arg] = true
				case renews(args) && released[arg]:
					late++
				case renews(args):
					renewals++
				}
			}
		})
		var holds []*engine.Hold
		for i := range 400 { // given back at every distance from a renewal, which comes every 200 ms
			h := testkit.MustLock(w.T, e.Mutex(fmt.Sprint("given", i)))
			holds = append(holds, h)
			time.AfterFunc(180*time.Millisecond+time.Duration(i)*100*time.Microsecond, func() { h.UnlockAsync() })
		}
		for _, h := range holds {
			testkit.MustEnd(w.T, h)
		}
		time.Sleep(500 * time.Millisecond) // two more renewals would come
		w.Server.Hear(nil)
		if renewals == 0 || len(released) != len(holds) || late > 0 {
			w.T.Errorf("%d renewals, %d released, of which %d were renewed afterwards", renewals, len(released), late)
		}
		w.Quiet(e, 0)
	})
}

func TestFaultTrapInnerUnlockKeepsRenewing(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		me := engine.NewOwner()
		outer, inner := testkit.MustLock(w.T, e.Mutex("twice"), engine.WithOwner(me)), testkit.MustLock(w.T, e.Mutex("twice"), engine.WithOwner(me))
		testkit.MustUnlock(w.T, inner)
		time.Sleep(10 * time.Minute)
		if got, want := w.Owners("twice"), []string{outer.TenureID(), "1"}; !slices.Equal(got, want) {
			w.T.Errorf("in Redis stands %q, want %q", got, want)
		}
		testkit.MustUnlock(w.T, outer)
		w.Quiet(e, 0)
	})
}

// Each renewal but one in a lease is refused.
func TestFaultTrapRenewalGoesOnAfterErrors(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		h := testkit.MustLock(w.T, e.Mutex("kept"))
		for range 20 {
			w.Server.Look(func(s *redismodel.Server) { s.Forbid("NOPERM this user has no permissions", "pexpire") })
			time.Sleep(22 * time.Second) // two renewals come in this time
			w.Server.Look(func(s *redismodel.Server) { s.Forbid("") })
			mustRenew(w.T, h)
		}
		testkit.MustUnlock(w.T, h)
		w.Quiet(e, 0)
	})
}

// Many names are renewed in one call. One of them has become something else meanwhile.
// invariant: batch-error-charges-nobody
func TestFaultTrapRenewalIsNotAbortedByAnother(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		var holds []*engine.Hold
		for i := range 100 {
			holds = append(holds, testkit.MustLock(w.T, e.Mutex(fmt.Sprintf("together:%d", i))))
		}
		broken := holds[50]
		w.Server.Do("SET", broken.Name(), "something else")
		time.Sleep(2 * time.Minute)
		for _, h := range holds {
			if err := h.Unlock(testkit.Soon(w.T)); errors.Is(err, engine.ErrLost) != (h == broken) || err != nil && h != broken {
				w.T.Errorf("unlock %s: %v", h.Name(), err)
			}
		}
		w.Quiet(e, 0, broken.Name())
	})
}

func TestFaultTrapExtendTouchesItsOwnKey(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		var holds []*engine.Hold
		for i := range 5 {
			holds = append(holds, testkit.MustLock(w.T, e.Mutex(fmt.Sprintf("extended:%d", i)), engine.WithLease(time.Minute)))
		}
		if err := holds[2].Extend(testkit.Soon(w.T), time.Hour); err != nil {
			w.T.Fatal(err)
		}
		for i, h := range holds {
			left := time.Duration(w.Server.Do("PTTL", h.Name()).Int) * time.Millisecond
			if extended := left > 50*time.Minute; extended != (i == 2) || left <= 0 {
				w.T.Errorf("%s has %v left", h.Name(), left)
			}
			testkit.MustUnlock(w.T, h)
		}
		w.Quiet(e, 0)
	})
}

// Leases are durations, and what is an instant is one of the server's clock: no script sets an expiry as a
// client's clock has it. So the two clocks may differ by any time, and each may be set.
// invariant: clock-counts-suspension
func TestFaultTrapNoWallClockInScripts(t *testing.T) {
	t.Parallel()
	absolute := regexp.MustCompile(`(?i)\b(PEXPIREAT|EXPIREAT|PXAT|EXAT)\b`)
	for _, s := range []scripts.Script{scripts.Acquire, scripts.Release, scripts.Renew, scripts.Confirm, scripts.Inspect} {
		if found := absolute.FindString(s.Text); found != "" {
			t.Errorf("%s uses %s", s.Name, found)
		}
	}
	for _, apart := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		virtual.Test(t, func(w *virtual.World) {
			w.Server.Step(apart)
			e, _ := w.Connect()
			h := testkit.MustLock(w.T, e.Mutex("timed"))
			if left := w.Server.Do("PTTL", "timed").Int; left < 29_990 || left > 30_000 {
				w.T.Errorf("with clocks %v apart %d ms are left", apart, left)
			}
			testkit.MustUnlock(w.T, h)
			w.Quiet(e, 0)
		})
	}
}

// The release is sent, its answer is lost, another process takes the lock, the release is sent again.
// invariant: released-owner-is-dead
func TestFaultTrapStaleUnlockSparesTheNext(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("first"))) // the server knows the script
		for round := range 25 {
			name, releases := fmt.Sprintf("next:%d", round), 0
			h := testkit.MustLock(w.T, e.Mutex(name))
			l.Down.Swallow(1, virtual.Runs(scripts.Release))
			w.Server.Hear(func(args []string) {
				if virtual.Runs(scripts.Release)(args) {
					releases++
				}
			})
			freed := h.UnlockAsync()
			for !w.Try(name, time.Minute) {
				time.Sleep(50 * time.Microsecond) // less than any trip takes
			}
			if _, err := freed.Wait(testkit.Soon(w.T)); err != nil {
				w.T.Errorf("unlock: %v", err)
			}
			w.Server.Hear(nil)
			if got, want := w.Owners(name), []string{virtual.Outsider, "1"}; !slices.Equal(got, want) || releases != 2 {
				w.T.Errorf("after %d releases in Redis stands %q, want %q", releases, got, want)
			}
			w.Free(name)
		}
		w.Quiet(e, 0)
	})
}

// Waiters sleep: with messages, without, and with a connection that was cut. 200 who wait for a lock for a
// minute send a handful of commands, not thousands.
func TestFaultTrapWaitingIsQuiet(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		w.Take("quiet", time.Hour)
		var waiters []*futures.Future[*engine.Hold]
		for range 200 {
			waiters = append(waiters, e.Mutex("quiet").LockAsync(context.Background()))
		}
		time.Sleep(time.Second)
		asked := make(map[string]int)
		w.Server.Hear(func(args []string) { asked[args[0]]++ })
		l.Cut()
		time.Sleep(time.Minute)
		w.Server.Hear(nil)
		if asked["EVALSHA"] > 60 { // every two seconds, and what a new connection asks
			w.T.Errorf("200 waiters asked %d times in a minute", asked["EVALSHA"])
		}
		for _, f := range waiters {
			f.Cancel()
		}
		w.Free("quiet")
		w.Quiet(e, 0)
	})
}

func TestFaultTrapCancelReturnsAtOnce(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		w.Take("taken", time.Hour)
		waiting := e.Mutex("taken").LockAsync(context.Background())
		time.Sleep(time.Second)
		l.Up.Hold(time.Now().Add(10 * time.Second)) // nothing arrives
		ctx, cancel := context.WithCancel(context.Background())
		asked := make(chan error, 1)
		go func() { _, err := e.Mutex("free").Lock(ctx); asked <- err }()
		async := e.Mutex("free too").LockAsync(ctx)
		synctest.Wait()
		began := time.Now()
		cancel()
		waiting.Cancel()
		if err := testkit.Receive(w.T, "Lock", asked); !errors.Is(err, context.Canceled) {
			w.T.Errorf("Lock: %v", err)
		}
		for _, f := range []*futures.Future[*engine.Hold]{waiting, async} {
			if _, err := f.Wait(testkit.Soon(w.T)); !errors.Is(err, context.Canceled) {
				w.T.Errorf("LockAsync: %v", err)
			}
		}
		if took := time.Since(began); took > 0 {
			w.T.Errorf("cancelling took %v", took)
		}
		w.Free("taken")
		time.Sleep(10 * time.Second)
		w.Quiet(e, 0)
	})
}

// A callback that never returns keeps no other waiter from its message, its grant or its own callback.
func TestFaultTrapSlowCallbackHoldsUpNobody(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect(testkit.OnlyMessages, func(o *engine.Options) { o.Callbacks = 4 })
		release := make(chan struct{})
		var stuck []*futures.Future[*engine.Hold]
		for i := range 20 { // five times as many as there are workers
			name := fmt.Sprintf("slow:%d", i)
			w.Take(name, time.Hour)
			stuck = append(stuck, e.Mutex(name).LockAsync(testkit.Soon(w.T)).Then(func(*engine.Hold, error) { <-release }))
		}
		w.Take("quick", time.Hour)
		time.Sleep(time.Second)
		for i := range 20 {
			w.Free(fmt.Sprintf("slow:%d", i))
		}
		var called atomic.Bool
		quick := e.Mutex("quick").LockAsync(testkit.Soon(w.T))
		after := quick.Then(func(*engine.Hold, error) { called.Store(true) })
		time.Sleep(time.Second)
		w.Free("quick")
		mustGet(w.T, quick)
		if _, err := after.Wait(testkit.Soon(w.T)); err != nil || !called.Load() {
			w.T.Errorf("the quick callback: %v, called: %v", err, called.Load())
		}
		close(release)
		for _, f := range stuck {
			mustGet(w.T, f)
		}
		w.Quiet(e, 0)
	})
}

// watchers is a context that does not end, and counts who watches it and has not let go of it.
type watchers struct {
	context.Context
	done chan struct{}
	n    atomic.Int64
}

func (w *watchers) Done() <-chan struct{} { return w.done }

// AfterFunc is what package context calls on a parent of another make.
func (w *watchers) AfterFunc(func()) (stop func() bool) {
	w.n.Add(1)
	var once sync.Once
	return func() (stopped bool) {
		once.Do(func() { w.n.Add(-1); stopped = true })
		return stopped
	}
}

// Whoever locks and unlocks all day under one context must find the process as it was: no timers, no
// goroutines, no renewals, nothing that hangs on the context.
func TestFaultTrapNothingIsLeftOfUnlockedHolds(t *testing.T) {
	virtual.Test(t, func(w *virtual.World) { // beside no other test: it counts goroutines
		e, _ := w.Connect()
		day := &watchers{Context: context.Background(), done: make(chan struct{})}
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("first")))
		synctest.Wait()
		goroutines := runtime.NumGoroutine()
		for i := range testkit.Times(w.T, 100_000, 500) {
			name := fmt.Sprintf("day:%d", i%100)
			var err error
			if i%2 == 0 {
				err = engine.Do(day, e.Mutex(name), func(context.Context, *engine.Hold) error { return nil })
			} else {
				var h *engine.Hold
				if h, err = e.Mutex(name).LockAsync(day).Wait(day); err == nil {
					h.Context(day)
					_, err = h.UnlockAsync().Wait(day)
				}
			}
			if err != nil {
				w.T.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if now, watches := runtime.NumGoroutine(), day.n.Load(); now > goroutines+5 || watches > 0 {
			w.T.Errorf("%d goroutines, before %d; %d watches hang on the context", now, goroutines, watches)
		}
		before := w.Server.Commands()
		if time.Sleep(time.Minute); w.Server.Commands() != before {
			w.T.Errorf("%d commands in a minute in which nobody calls", w.Server.Commands()-before)
		}
		w.Quiet(e, 0)
	})
}

func TestFaultTrapUnlockWithEndedContext(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect()
		gone, cancel := context.WithCancelCause(context.Background())
		cause := errors.New("the client hung up")
		cancel(cause)
		h := testkit.MustLock(w.T, e.Mutex("held"))
		l.Down.Delay(func() time.Duration { return 500 * time.Millisecond })
		began := time.Now()
		if err := h.Unlock(gone); !errors.Is(err, engine.ErrUncertain) || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || time.Since(began) > 0 {
			w.T.Errorf("unlock: %v after %v, want ErrUncertain, the context's error and its cause at once", err, time.Since(began))
		}
		if err := h.Err(); !errors.Is(err, engine.ErrUnlocked) {
			w.T.Errorf("the hold ended with %v", err)
		}
		time.Sleep(time.Second)
		if keys := w.Server.Keys(); len(keys) > 0 {
			w.T.Errorf("%q stand: nothing was released", keys)
		}
		err := engine.Do(gone, e.Mutex("held"), func(context.Context, *engine.Hold) error { return nil })
		if !errors.Is(err, context.Canceled) {
			w.T.Errorf("Do: %v", err)
		}
		during, hangUp := context.WithCancel(context.Background())
		err = engine.Do(during, e.Mutex("held"), func(context.Context, *engine.Hold) error { hangUp(); return nil })
		if err != nil {
			w.T.Errorf("Do whose context ended meanwhile: %v", err)
		}
		w.Quiet(e, 0)
	})
}
