package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// mustRefuse checks that TryLock is refused with the server's words, and that Lock waits, and tells them when it gives up.
func mustRefuse(t *testing.T, m *engine.Mutex, words string) {
	t.Helper()
	_, err := m.TryLock(testkit.Soon(t))
	if !errors.Is(err, engine.ErrRefused) {
		t.Errorf("TryLock: %v, want ErrRefused", err)
	}
	testkit.Mentions(t, err, words)
	for wait := 100 * time.Millisecond; ; wait *= 2 { // as long as a busy machine takes for one answer
		_, err = m.Lock(testkit.Soon(t), engine.WithWait(wait))
		if errors.Is(err, engine.ErrRefused) || wait > testkit.Patience/4 {
			break
		}
	}
	if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrRefused) {
		t.Errorf("Lock: %v, want ErrWaitTimeout that is ErrRefused", err)
	}
	testkit.Mentions(t, err, words)
}

// mustWait checks that a call is still under way after it had time to fail.
func mustWait[T any](t *testing.T, what string, f *futures.Future[T]) {
	t.Helper()
	time.Sleep(150 * time.Millisecond) // sleeps: what shows that it waits; in virtual time, or more than an idle machine needs
	if _, err := f.Result(); !errors.Is(err, futures.ErrPending) {
		t.Errorf("%s does not wait: %v", what, err)
	}
}

// get waits for a lock that was asked for before, and gives it back.
func get(t *testing.T, f *futures.Future[*engine.Hold]) error {
	t.Helper()
	h, err := f.Wait(testkit.Soon(t))
	if err != nil {
		return err
	}
	return h.Unlock(testkit.Soon(t))
}

// mustGet is get for a lock that must be granted, and held until it is given back.
func mustGet(t *testing.T, f *futures.Future[*engine.Hold]) {
	t.Helper()
	if err := get(t, f); err != nil {
		t.Fatalf("a lock that waited: %v", err)
	}
}

// mustRenew waits until the watchdog has renewed a hold.
func mustRenew(t *testing.T, h *engine.Hold) {
	t.Helper()
	before := h.Deadline()
	redistest.Await(t, "a renewal", func() bool { return h.Deadline().After(before.Add(100 * time.Millisecond)) })
}

// A server without memory takes no new locks, but those that are held can be kept and given back.
func TestFaultServerOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(3*time.Second))
	for range testkit.Times(t, 100, 1) {
		watched, fixed := testkit.MustLock(t, e.Mutex("watched")), testkit.MustLock(t, e.Mutex("fixed"), engine.WithLease(time.Minute))
		server.MustDo("CONFIG", "SET", "maxmemory", "1")
		mustRefuse(t, e.Mutex("another"), "OOM")
		mustRenew(t, watched)
		before := fixed.Deadline()
		if err := fixed.Extend(testkit.Soon(t), 3*time.Minute); err != nil || !fixed.Deadline().After(before.Add(30*time.Second)) {
			t.Errorf("extend: %v, deadline moved by %v", err, fixed.Deadline().Sub(before))
		}
		testkit.MustUnlock(t, watched)
		testkit.MustUnlock(t, fixed)
		if keys := server.Keys(); len(keys) > 0 {
			t.Errorf("keys left: %q", keys)
		}
		server.MustDo("CONFIG", "SET", "maxmemory", "0")
		testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("another")))
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// A server that is still loading its data keeps callers waiting.
func TestFaultServerLoading(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		var opts engine.Options
		e, _ := w.Connect(func(o *engine.Options) { opts = *o })
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("before")))
		w.Server.Stop()
		w.Server.Start(nil)
		w.Server.Load(5 * time.Second)
		began := time.Now()
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		impatient, err := engine.Open(ctx, opts)
		if err == nil {
			impatient.Close()
		}
		if testkit.Mentions(w.T, err, "LOADING"); !errors.Is(err, context.DeadlineExceeded) {
			w.T.Errorf("Open for a second: %v", err)
		}
		waits := e.Mutex("meanwhile").LockAsync(testkit.Soon(w.T))
		mustWait(w.T, "Lock", waits)
		another, _ := w.Connect() // Open waits too
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, another.Mutex("another")))
		mustGet(w.T, waits)
		if took := time.Since(began); took < 5*time.Second || took > 8*time.Second {
			w.T.Errorf("served after %v, want soon after 5s", took)
		}
		w.Quiet(e, 0)
	})
}

// A script that does not end makes the server answer BUSY to everything; when it is killed all goes on.
func TestFaultServerBusy(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		for range 20 {
			h := testkit.MustLock(w.T, e.Mutex("held"))
			w.Server.Busy(true)
			waits, freed := e.Mutex("another").LockAsync(testkit.Soon(w.T)), h.UnlockAsync()
			mustRefuse(w.T, e.Mutex("third"), "BUSY")
			mustWait(w.T, "Lock", waits)
			w.Server.Busy(false)
			mustGet(w.T, waits)
			if _, err := freed.Wait(testkit.Soon(w.T)); err != nil {
				w.T.Errorf("unlock: %v", err)
			}
		}
		w.Quiet(e, 0)
	})
}

// A busy server refuses subscriptions as well. That is no word about rights: they are asked for again, and
// messages wake as before.
func TestFaultServerBusyWhenAskedToListen(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, l := w.Connect(testkit.OnlyMessages)
		w.Take("taken", time.Hour)
		waits := e.Mutex("taken").LockAsync(context.Background())
		mustWait(w.T, "Lock", waits)
		w.Server.Busy(true)
		l.Cut()
		time.Sleep(10 * time.Second) // new connections ask, and are told BUSY
		w.Server.Busy(false)
		mustWait(w.T, "Lock", waits)
		redistest.Await(w.T, "a subscription", func() bool { return w.Listeners("taken") == 1 })
		w.Free("taken")
		mustGet(w.T, waits)
		w.Quiet(e, 0)
	})
}

// A busy server refuses to end a subscription too, and that must not be the end of the process. What is given up then
// is not listened to afterwards, and messages wake as before.
func TestFaultServerBusyWhenAskedToListenNoMore(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect(testkit.OnlyMessages)
		for _, name := range []string{"given up", "taken"} {
			w.Take(name, time.Hour)
		}
		waits, leaves := e.Mutex("taken").LockAsync(context.Background()), e.Mutex("given up").LockAsync(context.Background())
		time.Sleep(time.Second)
		w.Server.Busy(true)
		leaves.Cancel()
		time.Sleep(1500 * time.Millisecond) // a subscription outlives its last waiter by a second
		w.Server.Busy(false)
		redistest.Await(w.T, "one subscription", func() bool { return w.Listeners("given up") == 0 && w.Listeners("taken") == 1 })
		w.Free("taken")
		mustGet(w.T, waits)
		w.Free("given up")
		w.Quiet(e, 0)
	})
}

// A server that stands still for longer than the lease: every hold ends by its deadline, and an acquire that
// it runs afterwards is not handed out by an answer that is older than its lease.
func TestFaultServerFrozen(t *testing.T) {
	t.Parallel()
	virtual.Seeds(t, 50, func(w *virtual.World, random *rand.Rand) {
		e, l := w.Connect(testkit.Lease(time.Second))
		holds := make([]*engine.Hold, 5)
		for i := range holds {
			holds[i] = testkit.MustLock(w.T, e.Mutex(fmt.Sprintf("held:%d", i)))
			time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
		}
		l.Up.Hold(time.Now().Add(time.Second + time.Duration(random.Int64N(int64(4*time.Second)))))
		waits := e.Mutex("asked").LockAsync(testkit.Soon(w.T))
		var ends sync.WaitGroup
		for _, h := range holds {
			ends.Go(func() {
				if <-h.Done(); !errors.Is(h.Err(), engine.ErrLost) || time.Since(h.Deadline()) > dispatcher.Tick {
					w.T.Errorf("%s ended %v after its deadline with %v", h.Name(), time.Since(h.Deadline()), h.Err())
				}
			})
		}
		ends.Wait()
		h := testkit.MustWait(w.T, waits)
		if got := w.Owners("asked"); len(got) != 2 || got[0] != h.TenureID() {
			w.T.Errorf("handed out was %s, in Redis stands %q", h.TenureID(), got)
		}
		testkit.MustUnlock(w.T, h)
		w.Quiet(e, 0)
	})
}

// A server that takes no more connections keeps callers waiting whose connection broke.
func TestFaultServerFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	h := testkit.MustLock(t, e.Mutex("held"))
	server.MustDo("CONFIG", "SET", "maxclients", "1") // the test's own is the one
	proxy.Cut()
	waits := e.Mutex("another").LockAsync(testkit.Soon(t))
	mustWait(t, "Lock", waits)
	server.MustDo("CONFIG", "SET", "maxclients", "1000")
	mustGet(t, waits)
	testkit.MustUnlock(t, h)
	testkit.CheckQuiet(t, server, e, 0)
}

// Nobody who asks once is told that a script is missing, not even when they are flushed before each call.
func TestFaultScriptsFlushedWithoutEnd(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		defer testkit.Every(w.T, 100*time.Microsecond, w.Server.FlushScripts)() // a trip takes longer
		for i := range 80 {
			m := e.Mutex(fmt.Sprint("mine:", i%8))
			h, err := m.TryLock(context.Background())
			if err == nil {
				err = h.Unlock(context.Background())
			}
			if err != nil {
				w.T.Fatalf("try and unlock: %v", err)
			}
		}
	})
}

// Scripts that are flushed all the time are nobody's concern.
func TestFaultScriptsFlushed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.HandoffTime = time.Millisecond })
	flushes := 0
	stop := testkit.Every(t, 50*time.Millisecond, func() { server.Do("SCRIPT", "FLUSH"); flushes++ })
	until := time.Now().Add(time.Duration(testkit.Times(t, 1000, 8)) * 50 * time.Millisecond)
	var wg sync.WaitGroup
	for i := range 4 {
		r := roundsOn(t, server, &kindsOfAll[0])
		for range 4 {
			wg.Go(func() {
				for time.Now().Before(until) && !t.Failed() {
					r.once([]*engine.Engine{e}, fmt.Sprintf("contest:%d", i))
				}
			})
		}
	}
	wg.Wait()
	stop()
	t.Logf("%d grants under %d flushes", e.Stats().Granted, flushes)
	testkit.CheckQuiet(t, server, e, 0)
}
