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
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
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
// message, and only asking again after the subscription finds out.
// invariant: one-command-per-name
func TestFaultTrapUnlockBeforeSubscribed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
	outside := testkit.NewOutsider(t, server.Addr())
	for tested, late := 0, 0; tested < testkit.Times(t, 100, 3) && late < 10; {
		name := fmt.Sprintf("gap:%d:%d", tested, late)
		outside.Take(name, time.Hour)
		proxy.Latency(redistest.Both, time.Duration(1+late)*50*time.Millisecond, 0)
		before := server.CommandCounts()["evalsha"]
		f := e.Mutex(name).LockAsync(testkit.Soon(t))
		redistest.Await(t, "a refusal", func() bool { return server.CommandCounts()["evalsha"] > before })
		if outside.Free(name); slices.Contains(server.Subscriptions().Channels, scripts.LockChannel(name)) {
			late++ // the subscription was quicker than this process: nothing was tested
		} else {
			tested++
		}
		if late == 10 {
			t.Error("the subscription was quicker ten times")
		}
		proxy.Latency(redistest.Both, 0, 0)
		mustGet(t, f)
	}
}

// A renewal on its way when the lock is given back must not bring it back to life, and none may follow.
// invariant: released-owner-is-dead
func TestFaultTrapNoRenewalAfterUnlock(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Latency(redistest.Both, time.Millisecond, 0)
	e := testkit.Connect(t, proxy.Addr(), testkit.Lease(600*time.Millisecond), func(o *engine.Options) {
		o.Redis.Dialer.KeepAlive, o.Redis.ConnWriteTimeout = 50*time.Millisecond, 100*time.Millisecond
	})
	monitor := server.Monitor()
	var holds []*engine.Hold
	for i := range 30 { // given back at every distance from a renewal, which comes every 200 ms
		h := testkit.MustLock(t, e.Mutex(fmt.Sprintf("given:%d", i)))
		holds = append(holds, h)
		time.AfterFunc(time.Duration(180+i)*time.Millisecond, func() { h.UnlockAsync() })
	}
	for _, h := range holds {
		testkit.MustEnd(t, h)
	}
	redistest.Await(t, "every key to be gone", func() bool { return len(server.Keys()) == 0 })
	time.Sleep(500 * time.Millisecond) // two more renewals would come
	renewed, renewals := make(map[string]string), 0
	for _, line := range monitor.Stop() {
		words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		for _, h := range holds {
			switch {
			case !slices.Contains(words, h.TenureID()):
			case strings.Contains(line, `"HDEL"`), strings.Contains(line, `"DEL"`):
				renewed[h.Name()] = "gone"
			case isScript(line, scripts.Renew):
				renewals++
				if renewed[h.Name()] == "gone" {
					t.Errorf("%s was renewed after it was given back: %s", h.Name(), line)
				}
			}
		}
	}
	if renewals == 0 {
		t.Error("nothing was renewed")
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// isScript reports whether a line of MONITOR is a call of a script.
func isScript(line string, s scripts.Script) bool {
	return strings.Contains(line, `"EVALSHA" "`+testkit.Digest(s)+`"`)
}

func TestFaultTrapInnerUnlockKeepsRenewing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(3*time.Second))
	me := engine.NewOwner()
	outer, inner := testkit.MustLock(t, e.Mutex("twice"), engine.WithOwner(me)), testkit.MustLock(t, e.Mutex("twice"), engine.WithOwner(me))
	testkit.MustUnlock(t, inner)
	mustRenew(t, outer)
	mustRenew(t, outer)
	if got, want := testkit.Owners(server, "twice"), []string{outer.TenureID(), "1"}; !slices.Equal(got, want) {
		t.Errorf("in Redis stands %q, want %q", got, want)
	}
	testkit.MustUnlock(t, outer)
	testkit.CheckQuiet(t, server, e, 0)
}

func TestFaultTrapRenewalGoesOnAfterErrors(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "locks", "on", ">password", "~*", "&*", "+@all")
	opts := limitedTo(server, "~*", "&*", "+@all")
	opts.Lease = 6 * time.Second
	e := openLimited(t, opts)
	h := testkit.MustLock(t, e.Mutex("kept"))
	server.MustDo("ACL", "SETUSER", "locks", "resetkeys")
	refused := func() bool { return len(server.MustDo("ACL", "LOG").Items) > 0 }
	server.MustDo("ACL", "LOG", "RESET")
	redistest.Await(t, "a renewal that is refused", refused)
	server.MustDo("ACL", "SETUSER", "locks", "~*")
	mustRenew(t, h)
	mustRenew(t, h)
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// Many names are renewed in one call. One of them has become something else meanwhile.
// invariant: batch-error-charges-nobody
func TestFaultTrapRenewalIsNotAbortedByAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(6*time.Second))
	var holds []*engine.Hold
	for i := range 100 {
		holds = append(holds, testkit.MustLock(t, e.Mutex(fmt.Sprintf("together:%d", i))))
	}
	broken := holds[50]
	server.MustDo("SET", broken.Name(), "something else")
	if err := testkit.MustEnd(t, broken); !errors.Is(err, engine.ErrLost) {
		t.Errorf("%s ended with %v", broken.Name(), err)
	}
	told := time.Now()
	for i, h := range holds {
		if i != 50 { // renewed since: their leases began after it
			redistest.Await(t, "a renewal", func() bool { return h.Deadline().After(told.Add(5900 * time.Millisecond)) })
			testkit.MustUnlock(t, h)
		}
	}
	testkit.CheckQuiet(t, server, e, 0, broken.Name())
}

func TestFaultTrapExtendTouchesItsOwnKey(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	var holds []*engine.Hold
	for i := range 5 {
		holds = append(holds, testkit.MustLock(t, e.Mutex(fmt.Sprintf("extended:%d", i)), engine.WithLease(time.Minute)))
	}
	if err := holds[2].Extend(testkit.Soon(t), time.Hour); err != nil {
		t.Fatal(err)
	}
	for i, h := range holds {
		left := time.Duration(server.MustDo("PTTL", h.Name()).Int) * time.Millisecond
		if extended := left > 50*time.Minute; extended != (i == 2) || left <= 0 {
			t.Errorf("%s has %v left", h.Name(), left)
		}
		testkit.MustUnlock(t, h)
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// Leases are durations, and what is an instant is one of the server's clock: no script sets an expiry as a
// client's clock has it.
// invariant: clock-counts-suspension
func TestFaultTrapNoWallClockInScripts(t *testing.T) {
	absolute := regexp.MustCompile(`(?i)\b(PEXPIREAT|EXPIREAT|PXAT|EXAT)\b`)
	for _, s := range []scripts.Script{scripts.Acquire, scripts.Release, scripts.Renew, scripts.Confirm, scripts.Inspect} {
		if found := absolute.FindString(s.Text); found != "" {
			t.Errorf("%s uses %s", s.Name, found)
		}
	}
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	monitor := server.Monitor()
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("timed")))
	found := false
	for _, line := range monitor.Stop() {
		if isScript(line, scripts.Acquire) { // EVALSHA digest 1 name notAfter owner lease
			found = true
			words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
			lease := words[len(words)-1]
			if lease != "30000" {
				t.Errorf("the lease is sent as %s", lease)
			}
		}
	}
	if !found {
		t.Error("no acquire was seen")
	}
}

// The release is sent, its answer is lost, another process takes the lock, the release is sent again.
// invariant: released-owner-is-dead
func TestFaultTrapStaleUnlockSparesTheNext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	for round := range testkit.Times(t, 1000, 20) {
		name := fmt.Sprintf("next:%d", round)
		h := testkit.MustLock(t, e.Mutex(name))
		proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(scripts.Release)})
		freed := h.UnlockAsync()
		redistest.Await(t, "the release", func() bool {
			_, taken := outside.Try(name, time.Minute)
			return taken
		})
		if _, err := freed.Wait(testkit.Soon(t)); err != nil {
			t.Errorf("unlock: %v", err)
		}
		if got, want := testkit.Owners(server, name), []string{outside.Owner, "1"}; !slices.Equal(got, want) {
			t.Errorf("in Redis stands %q, want %q", got, want)
		}
		outside.Free(name)
	}
	if got := proxy.Stats().Swallowed; got == 0 {
		t.Error("no answer was swallowed")
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// Waiters sleep: with messages, without, and with a subscriber that is killed. 200 who wait for a lock for a
// second and a half send a handful of commands, not thousands.
func TestFaultTrapWaitingIsQuiet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	outside.Take("quiet", time.Hour)
	var waiters []*futures.Future[*engine.Hold]
	for range 200 {
		waiters = append(waiters, e.Mutex("quiet").LockAsync(testkit.Soon(t)))
	}
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
	before := server.CommandCounts()["evalsha"]
	server.MustDo("CLIENT", "KILL", "TYPE", "pubsub")
	time.Sleep(1500 * time.Millisecond)
	if asked := server.CommandCounts()["evalsha"] - before; asked > 10 {
		t.Errorf("200 waiters asked %d times in 1.5s, want once or twice", asked)
	}
	for _, f := range waiters {
		f.Cancel()
	}
	outside.Free("quiet")
	testkit.CheckQuiet(t, server, e, 0)
}

func TestFaultTrapCancelReturnsAtOnce(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	outside.Take("taken", time.Hour)
	waiting := e.Mutex("taken").LockAsync(context.Background())
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
	proxy.BlackHole(redistest.Both, true)
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan error, 1)
	go func() { _, err := e.Mutex("free").Lock(ctx); asked <- err }()
	async := e.Mutex("free too").LockAsync(ctx)
	redistest.Await(t, "three requests", func() bool { return e.Stats().Waiting == 3 })
	pace := testkit.Pace(t, func() { server.Do("PING") })
	cancel()
	waiting.Cancel()
	if err := testkit.Receive(t, "Lock", asked); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v", err)
	}
	for _, f := range []*futures.Future[*engine.Hold]{waiting, async} {
		if _, err := f.Wait(testkit.Soon(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("LockAsync: %v", err)
		}
	}
	if took := pace(); took > 500*time.Millisecond { // time-outs of the link are seconds
		t.Errorf("cancelling took %v", took)
	}
	proxy.BlackHole(redistest.Both, false)
	outside.Free("taken")
	testkit.CheckQuiet(t, server, e, 0)
}

// A callback that never returns keeps no other waiter from its message, its grant or its own callback.
func TestFaultTrapSlowCallbackHoldsUpNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Callbacks, o.PollCap = 4, time.Hour })
	outside := testkit.NewOutsider(t, server.Addr())
	release := make(chan struct{})
	var stuck []*futures.Future[*engine.Hold]
	for i := range 20 { // five times as many as there are workers
		name := fmt.Sprintf("slow:%d", i)
		outside.Take(name, time.Hour)
		stuck = append(stuck, e.Mutex(name).LockAsync(testkit.Soon(t)).Then(func(*engine.Hold, error) { <-release }))
	}
	redistest.Await(t, "subscriptions", func() bool { return server.Subscriptions().Count() == 20 })
	for i := range 20 {
		outside.Free(fmt.Sprintf("slow:%d", i))
	}
	outside.Take("quick", time.Hour)
	var called atomic.Bool
	quick := e.Mutex("quick").LockAsync(testkit.Soon(t))
	after := quick.Then(func(*engine.Hold, error) { called.Store(true) })
	redistest.Await(t, "subscriptions", func() bool { return server.Subscriptions().Count() == 21 })
	outside.Free("quick")
	mustGet(t, quick)
	if _, err := after.Wait(testkit.Soon(t)); err != nil || !called.Load() {
		t.Errorf("the quick callback: %v, called: %v", err, called.Load())
	}
	close(release)
	for _, f := range stuck {
		mustGet(t, f)
	}
	testkit.CheckQuiet(t, server, e, 0)
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
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(3*time.Second))
	day := &watchers{Context: context.Background(), done: make(chan struct{})}
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("first")))
	goroutines := runtime.NumGoroutine()
	for i := range testkit.Times(t, 100_000, 2000) {
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
			t.Fatal(err)
		}
	}
	// Watches are ended by goroutines of their own, because a context may be of a user type.
	redistest.Await(t, "no watches that hang on the context", func() bool { return day.n.Load() == 0 })
	redistest.Await(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	monitor := server.Monitor()
	time.Sleep(1500 * time.Millisecond) // whatever is still to be renewed would be, after one second
	for _, line := range monitor.Stop() {
		if isScript(line, scripts.Renew) {
			t.Errorf("still renewed: %s", line)
		}
	}
	testkit.CheckQuiet(t, server, e, 0)
}

func TestFaultTrapUnlockWithEndedContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Latency(redistest.Both, 5*time.Millisecond, 0)
	e := testkit.Connect(t, proxy.Addr())
	gone, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the client hung up")
	cancel(cause)
	h := testkit.MustLock(t, e.Mutex("held"))
	proxy.Latency(redistest.ServerToClient, 500*time.Millisecond, 0) // or the answer may be there before Unlock looks at its context
	if err := h.Unlock(gone); !errors.Is(err, engine.ErrUncertain) || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("unlock: %v, want ErrUncertain, the context's error and its cause", err)
	}
	if err := h.Err(); !errors.Is(err, engine.ErrUnlocked) {
		t.Errorf("the hold ended with %v", err)
	}
	redistest.Await(t, "the release", func() bool { return len(server.Keys()) == 0 })
	proxy.Latency(redistest.ServerToClient, 5*time.Millisecond, 0)
	err := engine.Do(gone, e.Mutex("held"), func(context.Context, *engine.Hold) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do: %v", err)
	}
	during, hangUp := context.WithCancel(context.Background())
	err = engine.Do(during, e.Mutex("held"), func(context.Context, *engine.Hold) error { hangUp(); return nil })
	if err != nil {
		t.Errorf("Do whose context ended meanwhile: %v", err)
	}
	testkit.CheckQuiet(t, server, e, 0)
}
