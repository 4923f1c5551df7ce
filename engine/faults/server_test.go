package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
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
	time.Sleep(150 * time.Millisecond)
	if _, err := f.Result(); !errors.Is(err, futures.ErrPending) {
		t.Errorf("%s does not wait: %v", what, err)
	}
}

// mustGet waits for a lock that was asked for before, and gives it back.
func mustGet(t *testing.T, f *futures.Future[*engine.Hold]) {
	t.Helper()
	h, err := f.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatalf("a lock that waited: %v", err)
	}
	testkit.MustUnlock(t, h)
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
	e := testkit.Connect(t, server.Addr(), testkit.Lease(6*time.Second))
	for range testkit.Times(t, 100, 2) {
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

// A replica, or a demoted master, takes no locks; who waits gets it when there is a master again, and so
// does who gives one back.
func TestFaultServerReadOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	h := testkit.MustLock(t, e.Mutex("held"))
	server.MustDo("REPLICAOF", "127.0.0.1", "1")
	mustRefuse(t, e.Mutex("another"), "READONLY")
	waits := e.Mutex("another").LockAsync(testkit.Soon(t))
	mustWait(t, "Lock", waits)
	freed := h.UnlockAsync()
	mustWait(t, "Unlock", freed)
	server.MustDo("REPLICAOF", "NO", "ONE")
	mustGet(t, waits)
	if _, err := freed.Wait(testkit.Soon(t)); err != nil {
		t.Errorf("unlock: %v", err)
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// A server that cannot save and has stopped writes takes no locks; who gives one back waits.
func TestFaultServerCannotSave(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--save", "3600 1")
	e := testkit.Connect(t, server.Addr())
	h := testkit.MustLock(t, e.Mutex("held"))
	dump := filepath.Join(server.MustDo("CONFIG", "GET", "dir").Texts()[1], "dump.rdb")
	if err := os.Mkdir(dump, 0o700); err != nil { // what is to be saved there cannot be
		t.Fatal(err)
	}
	save := func(status string) {
		server.MustDo("BGSAVE")
		redistest.Await(t, "the end of a save", func() bool {
			info := server.MustDo("INFO", "persistence").Text
			return strings.Contains(info, "rdb_bgsave_in_progress:0") && strings.Contains(info, "rdb_last_bgsave_status:"+status)
		})
	}
	save("err")
	mustRefuse(t, e.Mutex("another"), "MISCONF")
	freed := h.UnlockAsync()
	mustWait(t, "Unlock", freed)
	if err := os.Remove(dump); err != nil {
		t.Fatal(err)
	}
	save("ok")
	if _, err := freed.Wait(testkit.Soon(t)); err != nil {
		t.Errorf("unlock: %v", err)
	}
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("another")))
	testkit.CheckQuiet(t, server, e, 0)
}

// A server that is still loading its data keeps callers waiting, Open too.
func TestFaultServerLoading(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--key-load-delay", "50", "--loading-process-events-interval-bytes", "1024", "--enable-debug-command", "local")
	server.MustDo("DEBUG", "POPULATE", "12000", "filling")
	e := testkit.Connect(t, server.Addr())
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("before")))
	server.MustDo("SAVE")

	waits, opened, seen := make(chan *futures.Future[*engine.Hold], 1), make(chan error, 1), make(chan struct{})
	go func() {
		loading := func() bool {
			err := server.Do("PING").Err()
			return err != nil && strings.HasPrefix(err.Error(), "LOADING")
		}
		for !loading() && !t.Failed() { // until this process runs while the server loads
			time.Sleep(time.Millisecond)
		}
		close(seen)
		waits <- e.Mutex("meanwhile").LockAsync(testkit.Soon(t))
		opts := testkit.OptionsFor(server.Addr())
		another, err := testkit.Open(testkit.Soon(t), func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
		opened <- err
		if err == nil {
			opened <- another.Close()
		}
		close(opened)
	}()
	for again := true; again; {
		server.Restart() // returns when the data is there
		select {
		case <-seen:
			again = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	mustGet(t, <-waits)
	for err := range opened {
		if err != nil {
			t.Errorf("an engine opened meanwhile: %v", err)
		}
	}
}

// A script that does not end makes the server answer BUSY to everything; when it is killed all goes on.
func TestFaultServerBusy(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--busy-reply-threshold", "50")
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	for range testkit.Times(t, 50, 2) {
		h := testkit.MustLock(t, e.Mutex("held"))
		kill := busy(t, server, outside)
		waits, freed := e.Mutex("another").LockAsync(testkit.Soon(t)), h.UnlockAsync()
		mustRefuse(t, e.Mutex("third"), "BUSY")
		mustWait(t, "Lock", waits)
		kill()
		mustGet(t, waits)
		if _, err := freed.Wait(testkit.Soon(t)); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// busy has a script run until the returned func kills it.
func busy(t *testing.T, server *redistest.Server, outside *testkit.Outsider) (kill func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		b := outside.Client.B()
		ended <- outside.Client.Do(context.Background(), b.Eval().Script("while true do end").Numkeys(0).Build()).Error()
	}()
	redistest.Await(t, "the server to be busy", func() bool {
		err := server.Do("PING").Err()
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	})
	return func() {
		t.Helper()
		server.MustDo("SCRIPT", "KILL")
		if err := testkit.Receive(t, "the end of the script", ended); err == nil {
			t.Error("the script ended by itself")
		}
	}
}

// A busy server refuses subscriptions as well. That is no word about rights: they are asked for again, and
// messages wake as before.
func TestFaultServerBusyWhenAskedToListen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--busy-reply-threshold", "50")
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
	outside := testkit.NewOutsider(t, server.Addr())
	outside.Take("taken", time.Hour)
	waits := e.Mutex("taken").LockAsync(testkit.Soon(t))
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
	kill := busy(t, server, outside)
	proxy.Cut()
	mustWait(t, "Lock", waits) // meanwhile a new connection asks, and is told BUSY
	kill()
	redistest.Await(t, "a subscription", func() bool { return server.Subscriptions().Count() == 1 })
	outside.Free("taken")
	mustGet(t, waits)
	testkit.CheckQuiet(t, server, e, 0)
}

// A busy server refuses to end a subscription too, and that must not be the end of the process. What is given up then
// is not listened to afterwards, and messages wake as before.
func TestFaultServerBusyWhenAskedToListenNoMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--busy-reply-threshold", "50")
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
	outside := testkit.NewOutsider(t, server.Addr())
	for _, name := range []string{"given up", "taken"} {
		outside.Take(name, time.Hour)
	}
	waits, leaves := e.Mutex("taken").LockAsync(testkit.Soon(t)), e.Mutex("given up").LockAsync(testkit.Soon(t))
	redistest.Await(t, "two subscriptions", func() bool { return server.Subscriptions().Count() == 2 })
	kill := busy(t, server, outside)
	leaves.Cancel()
	time.Sleep(1500 * time.Millisecond) // a subscription outlives its last waiter by a second
	kill()
	redistest.Await(t, "one subscription", func() bool { return server.Subscriptions().Count() == 1 })
	outside.Free("taken")
	mustGet(t, waits)
	outside.Free("given up")
	testkit.CheckQuiet(t, server, e, 0)
}

// A server that stands still for longer than the lease: every hold ends by its deadline, and an acquire that
// it runs afterwards is not handed out by an answer that is older than its lease.
func TestFaultServerFrozen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(time.Second))
	for range testkit.Times(t, 100, 3) {
		holds := make([]*engine.Hold, 20)
		for i := range holds {
			holds[i] = testkit.MustLock(t, e.Mutex(fmt.Sprintf("held:%d", i)))
		}
		server.Freeze()
		waits := e.Mutex("asked").LockAsync(testkit.Soon(t))
		for _, h := range holds {
			if err := testkit.MustEnd(t, h); !errors.Is(err, engine.ErrLost) {
				t.Errorf("%s ended with %v", h.Name(), err)
			}
			if late := time.Since(h.Deadline()); late > 3*time.Second {
				t.Errorf("%s ended %v after its deadline", h.Name(), late)
			}
		}
		time.Sleep(200 * time.Millisecond)
		server.Thaw()
		h, err := waits.Wait(testkit.Soon(t))
		if err != nil {
			t.Fatalf("a lock that waited: %v", err)
		}
		if err := h.Err(); err == nil {
			if got := testkit.Owners(server, "asked"); len(got) != 2 || got[0] != h.TenureID() {
				if h.Err() == nil { // else its lease ended while we looked
					t.Errorf("handed out was %s, in Redis stands %q", h.TenureID(), got)
				}
			}
		}
		if err := h.Unlock(testkit.Soon(t)); err != nil && !errors.Is(err, engine.ErrLost) {
			t.Errorf("unlock: %v", err)
		}
	}
	testkit.CheckQuiet(t, server, e, 0)
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
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var flushing, trying sync.WaitGroup
	for range 4 {
		outside := testkit.NewOutsider(t, server.Addr())
		flushing.Go(func() {
			for ctx.Err() == nil {
				outside.Client.Do(ctx, outside.Client.B().ScriptFlush().Build())
			}
		})
	}
	for i := range 8 {
		trying.Go(func() {
			for range testkit.Times(t, 5000, 30) {
				err := testkit.Patiently(func(ctx context.Context) error {
					h, err := e.Mutex(fmt.Sprintf("mine:%d", i)).TryLock(ctx)
					if err == nil {
						err = h.Unlock(ctx)
					}
					return err
				})
				if err != nil {
					t.Errorf("try and unlock: %v", err)
					return
				}
			}
		})
	}
	trying.Wait()
	stop()
	flushing.Wait()
	testkit.CheckQuiet(t, server, e, 0)
}

// Scripts that are flushed all the time are nobody's concern.
func TestFaultScriptsFlushed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.HandoffTime = time.Millisecond })
	flushes := 0
	stop := testkit.Every(t, 50*time.Millisecond, func() { server.Do("SCRIPT", "FLUSH"); flushes++ })
	c := newContest(t, server, e, 4, true)
	until := time.Now().Add(time.Duration(testkit.Times(t, 5000, 20)) * 50 * time.Millisecond)
	c.run(16, func() bool { return time.Now().After(until) })
	stop()
	t.Logf("%d grants under %d flushes", c.grants.Load(), flushes)
	testkit.CheckQuiet(t, server, e, 0)
}
