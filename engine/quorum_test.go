package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// fleet is five servers, each behind a proxy, with an engine on each.
type fleet struct {
	servers []*redistest.Server
	proxies []*redistest.Proxy
	engines []*engine.Engine
}

// patient has calls wait for answers, however long a busy machine takes for one.
var patient = engine.Options{AnswerTimeout: -1}

func startFleet(t testing.TB, opts engine.Options) *fleet {
	t.Helper()
	f := &fleet{}
	for range 5 {
		server := redistest.Start(t)
		proxy := redistest.NewProxy(t, server.Addr())
		f.servers, f.proxies = append(f.servers, server), append(f.proxies, proxy)
		f.engines = append(f.engines, openAt(t, proxy.Addr(), opts))
	}
	return f
}

func openAt(t testing.TB, addr string, opts engine.Options) *engine.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: []string{addr}}
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	t.Cleanup(func() { e.Close() })
	return e
}

func (f *fleet) lock(t testing.TB) *engine.QuorumLock {
	t.Helper()
	q, err := engine.Quorum("stock:7", f.engines...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// another is another process on the same servers.
func (f *fleet) another(t testing.TB) *fleet {
	t.Helper()
	others := &fleet{servers: f.servers}
	for _, s := range f.servers {
		others.engines = append(others.engines, openAt(t, s.Addr(), patient))
	}
	return others
}

// holders is on how many servers the key stands.
func (f *fleet) holders() (n int) {
	for _, s := range f.servers {
		n += int(s.MustDo("EXISTS", "stock:7").Int)
	}
	return n
}

func TestQuorumSurvivesAMinority(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]func(*fleet, int){
		"two servers dead":        func(f *fleet, i int) { f.servers[i].Kill() },
		"two servers black-holed": func(f *fleet, i int) { f.proxies[i].BlackHole(redistest.Both, true) },
		"one dead, one black-holed": func(f *fleet, i int) {
			if i == 0 {
				f.servers[i].Kill()
			} else {
				f.proxies[i].BlackHole(redistest.Both, true)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()                                               // mostly it waits
			f := startFleet(t, engine.Options{Lease: 6 * time.Second}) // a busy machine must not be taken for a loss
			fault(f, 0)
			fault(f, 1)
			h, err := f.lock(t).Lock(context.Background(), engine.WithWait(20*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-h.Done():
				t.Fatalf("not renewed on the majority that is left: %v", h.Err())
			case <-time.After(10 * time.Second): // nearly two leases
			}
			if err := testkit.Patiently(h.Unlock); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestQuorumRefusesWithoutMajority(t *testing.T) {
	t.Parallel()
	f := startFleet(t, engine.Options{Lease: 2 * time.Second})
	for i := range 3 {
		f.servers[i].Kill()
	}
	_, err := f.lock(t).Lock(context.Background(), engine.WithWait(2*time.Second))
	if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Lock = %v, want ErrWaitTimeout and ErrUnavailable", err)
	}
	redistest.Await(t, "nothing is left on the two that live", func() bool {
		return len(f.servers[3].Keys())+len(f.servers[4].Keys()) == 0
	})
}

// invariant: multi-all-or-nothing
func TestQuorumIsLostWithTheMajority(t *testing.T) {
	t.Parallel()
	f := startFleet(t, engine.Options{Lease: 2 * time.Second})
	h, err := f.lock(t).Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx := h.Context(context.Background())
	for i := range 3 {
		f.proxies[i].BlackHole(redistest.Both, true)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), engine.ErrLost) {
		t.Errorf("the cause is %v, want ErrLost", context.Cause(ctx))
	}
	if n := f.holders(); n > 0 && time.Now().After(h.Deadline().Add(time.Second)) {
		t.Errorf("told %v after the deadline", time.Since(h.Deadline()))
	}
}

func TestQuorumExcludes(t *testing.T) {
	t.Parallel()
	f := startFleet(t, patient)
	others := f.another(t)
	inside, sections := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, party := range []*fleet{f, others} {
		for range 4 {
			wg.Go(func() {
				for range 5 {
					err := engine.Do(context.Background(), party.lock(t), func(context.Context, *engine.Hold) error {
						mu.Lock()
						inside++
						alone := inside == 1
						mu.Unlock()
						time.Sleep(time.Millisecond)
						mu.Lock()
						defer mu.Unlock()
						inside--
						sections++
						if !alone {
							return errors.New("two holders at once")
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if sections != 40 {
		t.Errorf("%d sections, want 40", sections)
	}
	redistest.Await(t, "no key is left", func() bool { return f.holders() == 0 })
}

func TestQuorumRefusesBadEngines(t *testing.T) {
	server := redistest.Start(t)
	a, b := openAt(t, server.Addr(), engine.Options{}), openAt(t, server.Addr(), engine.Options{})
	for what, engines := range map[string][]*engine.Engine{
		"no engine": nil, "a nil engine": {a, nil}, "the same engine twice": {a, a}, "two on one server": {a, b},
	} {
		if _, err := engine.Quorum("stock:7", engines...); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	q, err := engine.Quorum("stock:7", a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Lock(context.Background(), engine.WithOwner(engine.NewOwner())); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Lock with an Owner: %v, want ErrInvalid", err)
	}
}

// Who waits for a majority that can never be reached again is told so, instead of asking for ever.
func TestQuorumOfClosedEnginesIsClosed(t *testing.T) {
	f := startFleet(t, engine.Options{})
	held := testkit.MustLock(t, f.another(t).lock(t))
	defer testkit.MustUnlock(t, held)
	var waiters []func() error
	for range 3 {
		waiter := f.lock(t).LockAsync(context.Background())
		waiters = append(waiters, func() error { return testkit.ResultOf(waiter.Wait(testkit.Soon(t))) })
	}
	for _, e := range f.engines[:3] {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, answer := range waiters {
		if err := answer(); !errors.Is(err, engine.ErrClosed) || errors.Is(err, engine.ErrUncertain) {
			t.Errorf("caller %d: %v, want ErrClosed", i, err)
		}
	}
	// Who asks once says what came first: that two servers have it for another, or that three are not asked any more.
	err := testkit.ResultOf(f.lock(t).TryLock(testkit.Soon(t)))
	if !errors.Is(err, engine.ErrClosed) && !errors.Is(err, engine.ErrHeld) || errors.Is(err, engine.ErrUncertain) {
		t.Errorf("TryLock: %v, want ErrClosed or ErrHeld", err)
	}
}

// A hold has its part on every server that answers, however its call was bounded. The lease is so long that nothing is repaired.
//
// invariant: quorum-counts-living-parts
func TestQuorumStandsOnAllServers(t *testing.T) {
	t.Parallel()
	f := startFleet(t, engine.Options{Lease: time.Hour})
	q := f.lock(t)
	for what, take := range map[string]func(context.Context) (*engine.Hold, error){
		"Lock":          func(ctx context.Context) (*engine.Hold, error) { return q.Lock(ctx) },
		"Lock WithWait": func(ctx context.Context) (*engine.Hold, error) { return q.Lock(ctx, engine.WithWait(testkit.Patience)) },
		"TryLock":       func(ctx context.Context) (*engine.Hold, error) { return q.TryLock(ctx) },
		"LockAsync":     func(ctx context.Context) (*engine.Hold, error) { return q.LockAsync(ctx).Wait(ctx) },
	} {
		for range 40 {
			ctx, cancel := context.WithCancel(t.Context())
			h, err := take(ctx)
			cancel()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			redistest.Await(t, what+": a part on each server", func() bool { held, all := h.Parts(); return held == all && f.holders() == all })
			if err := testkit.Patiently(h.Unlock); err != nil {
				t.Fatal(err)
			}
			redistest.Await(t, what+": no part on any server", func() bool { return f.holders() == 0 })
		}
	}
}

// A hold that was granted by a bare majority, and gets the other servers later, survives the loss of as many.
//
// invariant: quorum-counts-living-parts
func TestQuorumRepairsItself(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	f := startFleet(t, engine.Options{Lease: lease})
	whole := func(h *engine.Hold) func() bool {
		return func() bool { held, all := h.Parts(); return held == all && f.holders() == all }
	}
	f.servers[0].Kill()
	f.servers[1].Kill()
	h, err := f.lock(t).Lock(t.Context(), engine.WithWait(testkit.Patience))
	if err != nil {
		t.Fatal(err)
	}
	f.servers[0].Restart()
	f.servers[1].Restart()
	redistest.Await(t, "the parts of those that were down", whole(h))
	f.servers[4].Kill()
	f.servers[4].Restart() // empty
	redistest.Await(t, "the part of the one that has forgotten it", whole(h))
	f.servers[2].Kill()
	f.servers[3].Kill()
	select {
	case <-h.Done():
		t.Fatalf("lost with two servers of five: %v", h.Err())
	case <-time.After(2 * lease):
	}
	if held, all := h.Parts(); held != 3 || all != 5 {
		t.Errorf("%d of %d parts, want 3 of 5", held, all)
	}
	testkit.MustUnlock(t, h)
}
