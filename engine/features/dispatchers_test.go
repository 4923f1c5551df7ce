package features_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/judge"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// several is how many dispatchers the engines of these tests have.
const several = 3

// ofEach returns a name for each dispatcher, the i-th of which serves the i-th name.
func ofEach(room string) []string {
	names := make([]string, several)
	for i, found := 0, 0; found < several; i++ {
		name := fmt.Sprintf("%s:%d", room, i)
		if of := &names[int(scripts.HashSlot(name))*several/scripts.HashSlots]; *of == "" {
			*of = name
			found++
		}
	}
	return names
}

// Every kind of lock works between engines with one dispatcher and with several, whichever serves the name.
func TestDispatchersServeEveryKind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, a, b := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr(), testkit.Dispatchers(several)), testkit.Connect(t, server.Addr(), testkit.Dispatchers(several))
	var wg sync.WaitGroup
	for i, name := range testkit.Spread("kinds", 6) {
		from := []*engine.Engine{one, a}[i%2]
		wg.Go(func() { testkit.EveryKind(t, from, b, name) })
	}
	wg.Wait()
}

// Callers of two engines exclude each other on the names of all dispatchers, and no two tenures have the same owner id.
// invariant: released-owner-is-dead
func TestDispatchersExcludeAndCountEachOwnerOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	engines := []*engine.Engine{testkit.Connect(t, server.Addr(), testkit.Dispatchers(several)), testkit.Connect(t, server.Addr(), testkit.Dispatchers(several))}
	var names []string
	for i := range 4 {
		names = append(names, ofEach(fmt.Sprintf("room%d", i))...)
	}
	inside := make([]judge.Inside, len(names))
	var tenures sync.Map // by id: the name
	var wg sync.WaitGroup
	for caller := range 8 * several {
		wg.Go(func() {
			for turn := range 100 {
				at := (caller*7 + turn*5) % len(names)
				h, err := engines[caller%2].Mutex(names[at]).Lock(testkit.Soon(t))
				if err != nil {
					t.Error(err)
					return
				}
				if !inside[at].Enter(judge.Whole, judge.Whole) {
					t.Errorf("two callers have %s", names[at])
				}
				if other, seen := tenures.LoadOrStore(h.TenureID(), names[at]); seen && other != names[at] {
					t.Errorf("%s and %s have the owner id %s", other, names[at], h.TenureID())
				}
				inside[at].Leave(judge.Whole)
				// What a release gave to a claim has a lease of 2 s, which a busy machine may miss.
				if err := testkit.Patiently(h.Unlock); err != nil && !testkit.IsAny(err, engine.ErrLost, engine.ErrUncertain) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, e := range engines {
		testkit.CheckQuiet(t, server, e, 0)
	}
}

// Lua calculates with the numbers of waiters and of permits. Those of later dispatchers have fifteen digits, of which Lua shows
// fourteen by itself.
// invariant: fair-queue-order
func TestDispatchersKeepLongNumbersExact(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Dispatchers(several))
	const waiters = 300 // more than one command puts into a queue
	last := several - 1

	lock := e.FairMutex(ofEach("fair")[last])
	held := testkit.MustLock(t, lock)
	var waiting []*futures.Future[*engine.Hold]
	for range waiters {
		waiting = append(waiting, lock.LockAsync(testkit.Soon(t)))
	}
	queue := scripts.FairQueue(lock.Name())
	redistest.Await(t, "all to stand in the queue", func() bool { return server.MustDo("LLEN", queue).Int == waiters })
	state, err := lock.Inspect(testkit.Soon(t))
	if err != nil || state.Owner != held.TenureID() {
		t.Fatalf("Inspect = %+v, %v; want the owner %s", state, err, held.TenureID())
	}
	first := state.OwnerID.Number + 1
	for i, place := range server.MustDo("LRANGE", queue, "0", "-1").Texts() {
		if want := fmt.Sprintf("%s:%d", e.ID(), first+uint64(i)); place != want {
			t.Fatalf("place %d is %s, want %s", i, place, want)
		}
	}
	stays := func(i int) bool { return i%10 == 7 } // few, for each is served after the one before
	for i, f := range waiting {
		if !stays(i) {
			f.Cancel()
		}
	}
	testkit.MustUnlock(t, held)
	for i, f := range waiting {
		if stays(i) {
			h, err := f.Wait(testkit.Soon(t))
			if err != nil {
				t.Fatal(err)
			}
			testkit.MustUnlock(t, h)
		}
	}

	permits := e.PermitSemaphore(ofEach("permits")[last])
	if _, err := permits.TrySetPermits(testkit.Soon(t), 100); err != nil {
		t.Fatal(err)
	}
	h, err := permits.Acquire(testkit.Soon(t), 70)
	if err != nil {
		t.Fatal(err)
	}
	held70 := server.MustDo("ZCARD", scripts.PermitsKey(permits.Name())).Int
	if err := permits.Release(testkit.Soon(t), h.PermitIDs()...); err != nil || held70 != 70 {
		t.Errorf("%d permits were held, want 70; given back by their ids: %v", held70, err)
	}
	if n, err := permits.Available(testkit.Soon(t)); err != nil || n != 100 {
		t.Errorf("%d permits are free, %v; want 100", n, err)
	}
}

// What an engine tells of itself is told of all its dispatchers.
func TestDispatchersAreOneEngine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, other := testkit.Connect(t, server.Addr(), testkit.Dispatchers(several)), testkit.Connect(t, server.Addr())
	names := ofEach("one")
	var holds []*engine.Hold
	for _, name := range names {
		holds = append(holds, testkit.MustLock(t, e.Mutex(name)))
	}
	waiter := e.Mutex(names[several-1]).LockAsync(testkit.Soon(t))
	redistest.Await(t, "all to be counted", func() bool {
		s := e.Stats()
		return s.Up && s.Held == several && s.Granted == several && s.Waiting == 1 && s.Attempts >= several && s.OldestHold > 0
	})
	for i, name := range names {
		state, err := other.Mutex(name).Inspect(testkit.Soon(t))
		if err != nil || state.Owner != holds[i].TenureID() || state.OwnerID.Client != e.ID() {
			t.Errorf("Inspect(%s) = %+v, %v; want the owner %s", name, state, err, holds[i].TenureID())
		}
		if state, err = e.Mutex(name).Inspect(testkit.Soon(t)); err != nil || !state.Ours || state.Since.IsZero() {
			t.Errorf("Inspect(%s) by its holder = %+v, %v", name, state, err)
		}
	}
	if freed, err := e.Mutex(names[1]).ForceUnlock(testkit.Soon(t)); err != nil || !freed {
		t.Errorf("ForceUnlock = %t, %v", freed, err)
	}
	if err := testkit.MustEnd(t, holds[1]); !errors.Is(err, engine.ErrLost) {
		t.Errorf("what was freed by force ended with %v, want ErrLost", err)
	}
	id, err := holds[2].Detach(testkit.Soon(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := other.Mutex(names[2]).Adopt(testkit.Soon(t), id)
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustUnlock(t, adopted)
	h, err := waiter.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustUnlock(t, h)
	testkit.MustUnlock(t, holds[0])

	all, err := e.All(names...)
	if err != nil {
		t.Fatal(err)
	}
	testkit.HandOver(t, []engine.Locker{all, all}, []engine.Locker{testkit.Multi(t, other.Mutex(names[1]), other.Mutex(names[2])), all})
	testkit.CheckQuiet(t, server, e, 0)
}

// One server may hang on every dispatcher: all are closed at the same time, so Close takes no longer than with one.
func TestDispatchersCloseTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr(), testkit.Dispatchers(several))
	var holds []*engine.Hold
	for _, name := range ofEach("closing") {
		holds = append(holds, testkit.MustLock(t, e.Mutex(name)))
	}
	proxy.BlackHole(redistest.Both, true)
	began := time.Now()
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(began); took > 9*time.Second { // five, and a busy machine; one after the other they take nine at least
		t.Errorf("Close took %v", took)
	}
	for _, h := range holds {
		if err := h.Err(); !errors.Is(err, engine.ErrLost) || !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s ended with %v, want ErrLost and ErrClosed", h.Name(), err)
		}
	}
	proxy.BlackHole(redistest.Both, false)
}

// Shutdown waits for the holds of all dispatchers, and turns away who waits at any of them.
func TestDispatchersDrainTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Dispatchers(several))
	var holds []*engine.Hold
	var waiters []*futures.Future[*engine.Hold]
	for _, name := range ofEach("draining") {
		holds = append(holds, testkit.MustLock(t, e.Mutex(name)))
		waiters = append(waiters, e.Mutex(name).LockAsync(testkit.Soon(t)))
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Shutdown(testkit.Soon(t)) }()
	for _, f := range waiters {
		if _, err := f.Wait(testkit.Soon(t)); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("a waiter got %v, want ErrClosed", err)
		}
	}
	for i, h := range holds {
		select {
		case err := <-ended:
			t.Fatalf("Shutdown has returned %v, and %d are held", err, len(holds)-i)
		default:
		}
		if err := h.Err(); err != nil {
			t.Errorf("%s while the engine shuts down: %v", h.Name(), err)
		}
		testkit.MustUnlock(t, h)
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// A majority of servers, each of whose engines has several dispatchers.
func TestDispatchersInAQuorum(t *testing.T) {
	t.Parallel()
	var engines []*engine.Engine
	for range 3 {
		engines = append(engines, testkit.Connect(t, redistest.Start(t).Addr(), testkit.Dispatchers(several)))
	}
	for _, name := range ofEach("quorum") {
		q, err := engine.Quorum(name, engines...)
		if err != nil {
			t.Fatal(err)
		}
		h := testkit.MustLock(t, q)
		if _, err := q.TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrHeld) {
			t.Errorf("TryLock of %s = %v, want ErrHeld", name, err)
		}
		testkit.MustUnlock(t, h)
	}
}

// A key that is deleted is told of to the dispatcher that holds it, and a link that breaks to all.
func TestDispatchersHearOfLosses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Dispatchers(several), func(o *engine.Options) { o.WatchLoss, o.Lease = true, time.Hour })
	names := ofEach("lost")
	for _, lose := range []func(){
		func() {
			for _, name := range names {
				server.MustDo("DEL", name)
			}
		},
		func() { server.MustDo("FLUSHALL") },
	} {
		var holds []*engine.Hold
		for _, name := range names {
			holds = append(holds, testkit.MustLock(t, e.Mutex(name)))
		}
		lose()
		for _, h := range holds {
			if err := testkit.MustEnd(t, h); !errors.Is(err, engine.ErrLost) {
				t.Errorf("%s ended with %v, want ErrLost", h.Name(), err)
			}
		}
	}
}
