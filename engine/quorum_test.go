package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// fleet is five servers in virtual time, and an engine on each.
type fleet struct {
	*virtual.World
	servers []*redisnet.Server
	links   []*redisnet.Link
	engines []*engine.Engine
}

// onFleet runs a test on a fleet whose engines have these options.
func onFleet(t *testing.T, opts engine.Options, test func(f *fleet)) {
	t.Helper()
	virtual.Test(t, func(w *virtual.World) {
		f := &fleet{World: w}
		for i := range 5 {
			f.servers = append(f.servers, w.Serve(string(rune('a'+i))))
		}
		f.open(opts)
		test(f)
	})
}

// open opens the engines.
func (f *fleet) open(opts engine.Options) {
	for _, s := range f.servers {
		e, l := f.ConnectTo(s, func(o *engine.Options) { opts.Redis = o.Redis; *o = opts })
		f.engines, f.links = append(f.engines, e), append(f.links, l)
	}
}

// forget has servers stop and come back without their data.
func (f *fleet) forget(servers ...int) {
	for _, i := range servers {
		f.servers[i].Stop()
		f.servers[i].Start(&redisnet.Saved{})
	}
}

// blackHole has what this fleet and a server send each other vanish for a time.
func (f *fleet) blackHole(server int, d time.Duration) {
	until := time.Now().Add(d)
	f.links[server].Up.Lose(until)
	f.links[server].Down.Lose(until)
}

func (f *fleet) lock() *engine.QuorumLock {
	f.T.Helper()
	q, err := engine.Quorum("stock:7", f.engines...)
	if err != nil {
		f.T.Fatal(err)
	}
	return q
}

// another is another process on the same servers.
func (f *fleet) another() *fleet {
	others := &fleet{World: f.World, servers: f.servers}
	others.open(engine.Options{})
	return others
}

// holders is on how many servers the key stands.
func (f *fleet) holders() (n int) {
	for _, s := range f.servers {
		n += int(s.Do("EXISTS", "stock:7").Int)
	}
	return n
}

// wantWhole checks that a hold has its part on every server.
func (f *fleet) wantWhole(h *engine.Hold) {
	f.T.Helper()
	if held, all := h.Parts(); held != all || f.holders() != all {
		f.T.Errorf("%d of %d parts, %d keys; want all", held, all, f.holders())
	}
}

func TestQuorumSurvivesAMinority(t *testing.T) {
	t.Parallel()
	dead := func(f *fleet, i int) { f.servers[i].Stop() }
	silent := func(f *fleet, i int) { f.blackHole(i, time.Hour) }
	for what, faults := range map[string][2]func(*fleet, int){
		"two servers dead": {dead, dead}, "two servers black-holed": {silent, silent}, "one dead, one black-holed": {dead, silent},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onFleet(t, engine.Options{}, func(f *fleet) {
				for i, fault := range faults {
					fault(f, i)
				}
				h := testkit.MustLock(f.T, f.lock())
				time.Sleep(2 * time.Minute)
				if err := h.Err(); err != nil {
					f.T.Errorf("not renewed on the majority that is left: %v", err)
				}
				testkit.MustUnlock(f.T, h)
			})
		})
	}
}

func TestQuorumRefusesWithoutMajority(t *testing.T) {
	t.Parallel()
	onFleet(t, engine.Options{}, func(f *fleet) {
		for _, s := range f.servers[:3] {
			s.Stop()
		}
		_, err := f.lock().Lock(f.T.Context(), engine.WithWait(2*time.Second))
		if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrUnavailable) {
			f.T.Errorf("Lock = %v, want ErrWaitTimeout and ErrUnavailable", err)
		}
		time.Sleep(time.Second)
		if n := f.holders(); n != 0 {
			f.T.Errorf("%d keys are left on the two that live", n)
		}
	})
}

// invariant: multi-all-or-nothing
func TestQuorumIsLostWithTheMajority(t *testing.T) {
	t.Parallel()
	onFleet(t, engine.Options{}, func(f *fleet) {
		h := testkit.MustLock(f.T, f.lock())
		ctx := h.Context(f.T.Context())
		for i := range 3 {
			f.blackHole(i, time.Hour)
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), engine.ErrLost) {
			f.T.Errorf("the cause is %v, want ErrLost", context.Cause(ctx))
		}
		if late := time.Since(h.Deadline()); late > 0 {
			f.T.Errorf("told %v after the deadline", late)
		}
		if n := f.holders(); n < 3 {
			f.T.Errorf("told when %d servers had the key: another owner could have it", n)
		}
	})
}

// A process that starts while a server is down has no engine there.
func TestQuorumExcludesWhoLacksAServer(t *testing.T) {
	t.Parallel()
	onFleet(t, engine.Options{}, func(f *fleet) {
		others := f.another()
		others.engines = others.engines[:4]
		for _, holders := range [][2]*fleet{{f, others}, {others, f}} {
			f.servers[3].Stop()
			h := testkit.MustLock(f.T, holders[0].lock()) // on a bare majority
			f.servers[3].Start(&redisnet.Saved{})
			time.Sleep(time.Second) // the engines connect again
			if _, err := holders[1].lock().TryLock(f.T.Context()); !errors.Is(err, engine.ErrHeld) {
				f.T.Errorf("TryLock: %v, want ErrHeld", err)
			}
			testkit.MustUnlock(f.T, h)
			time.Sleep(time.Second)
		}
	})
}

func TestQuorumExcludes(t *testing.T) {
	t.Parallel()
	onFleet(t, engine.Options{}, func(f *fleet) {
		inside, sections := 0, 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, party := range []*fleet{f, f.another()} {
			for range 4 {
				wg.Go(func() {
					for range 5 {
						err := engine.Do(f.T.Context(), party.lock(), func(context.Context, *engine.Hold) error {
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
							f.T.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		if sections != 40 {
			f.T.Errorf("%d sections, want 40", sections)
		}
		time.Sleep(time.Second)
		if n := f.holders(); n != 0 {
			f.T.Errorf("%d keys are left", n)
		}
	})
}

// Processes that want the lock all the time wait in the line of one server, and so have turns. If that server dies, they learn it within a
// tenth of the lease, and wait in another's.
func TestProcessesTakeTurnsWithAQuorumLock(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]int{"all servers live": -1, "the first server dies": 50} {
		t.Run(name, func(t *testing.T) {
			onFleet(t, engine.Options{}, func(f *fleet) {
				const processes = 4
				sections := max(dies, 0) + 75
				var wg sync.WaitGroup
				var mu sync.Mutex
				n, judged := 0, time.Now()
				for p := range processes {
					party := f.another()
					wg.Go(func() {
						last := time.Now()
						for done := false; !done; {
							hold := testkit.MustLock(f.T, party.lock())
							mu.Lock()
							if since := time.Since(last); last.After(judged) && since > 12*processes*6*time.Millisecond {
								f.T.Errorf("section %d: process %d waited for %v", n, p, since)
							}
							if n++; n == dies {
								f.servers[0].Stop()
								judged = time.Now().Add(4 * time.Second)
							}
							done = n >= sections
							mu.Unlock()
							last = time.Now()
							time.Sleep(5 * time.Millisecond)
							hold.UnlockAsync() // of a server that has died nothing is heard until the lease is over
						}
					})
				}
				began := time.Now()
				wg.Wait()
				if took := time.Since(began); took > time.Duration(sections)*7*time.Millisecond+time.Second {
					f.T.Errorf("%d sections of 5 ms took %v", sections, took)
				}
			})
		})
	}
}

func TestQuorumRefusesBadEngines(t *testing.T) {
	server := redistest.Start(t)
	a, b := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	for what, engines := range map[string][]*engine.Engine{
		"no engine": nil, "a nil engine": {a, nil}, "the same engine twice": {a, a}, "two on one server": {a, b},
	} {
		if _, err := engine.Quorum("stock:7", engines...); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	q, err := engine.Quorum("stock:7", a)
	testkit.Must(t, err)
	if _, err := q.Lock(context.Background(), engine.WithOwner(engine.NewOwner())); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Lock with an Owner: %v, want ErrInvalid", err)
	}
}

// Who waits for a majority that can never be reached again is told so, instead of asking for ever.
func TestQuorumOfClosedEnginesIsClosed(t *testing.T) {
	t.Parallel()
	onFleet(t, engine.Options{}, func(f *fleet) {
		held := testkit.MustLock(f.T, f.another().lock())
		defer testkit.MustUnlock(f.T, held)
		var waiters []*futures.Future[*engine.Hold]
		for range 3 {
			waiters = append(waiters, f.lock().LockAsync(f.T.Context()))
		}
		synctest.Wait()
		for _, e := range f.engines[:3] {
			if err := e.Close(); err != nil {
				f.T.Error(err)
			}
		}
		for i, waiter := range waiters {
			if _, err := waiter.Wait(f.T.Context()); !errors.Is(err, engine.ErrClosed) || errors.Is(err, engine.ErrUncertain) {
				f.T.Errorf("caller %d: %v, want ErrClosed", i, err)
			}
		}
		// Who asks once says what came first: that two servers have it for another, or that three are not asked any more.
		_, err := f.lock().TryLock(f.T.Context())
		if !errors.Is(err, engine.ErrClosed) && !errors.Is(err, engine.ErrHeld) || errors.Is(err, engine.ErrUncertain) {
			f.T.Errorf("TryLock: %v, want ErrClosed or ErrHeld", err)
		}
	})
}
