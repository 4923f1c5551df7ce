package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// majority is a test of a QuorumLock on three servers in memory. Its bubble is that of the first.
type majority struct {
	*bubble
	lock    *engine.QuorumLock
	engines []*engine.Engine
	servers []*virtual.Redis
}

func specQuorum(opts engine.Options, test func(q *majority)) func(*testing.T) {
	return spec(opts, func(b *bubble) {
		q := &majority{bubble: b, engines: []*engine.Engine{b.Engine}, servers: []*virtual.Redis{b.redis}}
		for range 2 {
			e, s := virtual.New(b.T, opts)
			q.engines, q.servers = append(q.engines, e), append(q.servers, s)
		}
		var err error
		q.lock, err = engine.Quorum("stock:7", q.engines...)
		b.wantNil("Quorum", err)
		test(q)
	})
}

// specQuorumClean is specQuorum for a test that leaves no key on any server.
func specQuorumClean(opts engine.Options, test func(q *majority)) func(*testing.T) {
	return specQuorum(opts, func(q *majority) {
		test(q)
		q.wantFree()
	})
}

// slow makes the way to a server so long, and back.
func (m *majority) slow(i int, d time.Duration) { m.servers[i].SetLatency(d) }

// occupied has another owner take the name on a server.
func (m *majority) occupied(i int) (vacate func()) {
	m.Helper()
	return m.servers[i].Occupy("stock:7", time.Hour)
}

// wantOn fails the test unless h stands on these servers, by what it says itself and by the keys.
func (m *majority) wantOn(h *engine.Hold, servers ...int) {
	m.Helper()
	m.wantHeld(h)
	held, all := h.Parts()
	var on []int
	for i, e := range m.engines {
		if state, err := e.Mutex("stock:7").Inspect(m.Context()); err == nil && state.Ours {
			on = append(on, i)
		}
	}
	if held != len(servers) || all != 3 || !slices.Equal(on, servers) {
		m.Errorf("after %v: %d of %d parts, keys on %v; want %v", m.since(), held, all, on, servers)
	}
}

// wantFree fails the test unless no server has the name.
func (m *majority) wantFree() {
	m.Helper()
	synctest.Wait()
	for i, s := range m.servers {
		if keys := s.Keys(); len(keys) > 0 {
			m.Errorf("server %d has %q, want nothing", i, keys)
		}
	}
}

var bubbleEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *majority) since() time.Duration { return time.Since(bubbleEpoch) }

// take takes the lock, which must be free, and returns when all servers have answered that are not slow.
func (m *majority) take(opts ...engine.LockOption) *engine.Hold {
	m.Helper()
	h := m.bubble.lock(m.lock, opts...)
	synctest.Wait()
	return h
}

// A server that answers after the majority has its part whatever becomes of the call's context or time.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumHasTheServersThatAnswerLate(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(q *majority, ctx context.Context) (*engine.Hold, error){
		"Lock": func(q *majority, ctx context.Context) (*engine.Hold, error) { return q.lock.Lock(ctx) },
		"Lock WithWait": func(q *majority, ctx context.Context) (*engine.Hold, error) {
			return q.lock.Lock(ctx, engine.WithWait(time.Minute))
		},
		"Lock WithLease": func(q *majority, ctx context.Context) (*engine.Hold, error) {
			return q.lock.Lock(ctx, engine.WithLease(time.Minute))
		},
		"TryLock": func(q *majority, ctx context.Context) (*engine.Hold, error) { return q.lock.TryLock(ctx) },
		"TryLock WithLease": func(q *majority, ctx context.Context) (*engine.Hold, error) {
			return q.lock.TryLock(ctx, engine.WithLease(time.Minute))
		},
		"LockAsync": func(q *majority, ctx context.Context) (*engine.Hold, error) { return q.lock.LockAsync(ctx).Wait(ctx) },
		"TryLockAsync": func(q *majority, ctx context.Context) (*engine.Hold, error) {
			return q.lock.TryLockAsync(ctx).Wait(ctx)
		},
	} {
		t.Run(what, specQuorumClean(engine.Options{}, func(q *majority) {
			q.slow(2, 50*time.Millisecond)
			ctx, cancel := context.WithCancel(q.Context())
			h, err := take(q, ctx)
			cancel()
			q.wantNil("Lock", err)
			if held, all := h.Parts(); held != 2 || all != 3 {
				q.Errorf("%d of %d parts when the majority has answered, want 2 of 3", held, all)
			}
			time.Sleep(time.Second)
			q.slow(2, 0)
			q.wantOn(h, 0, 1, 2)
			q.unlock(h)
		}))
	}
}

// A majority that does not answer keeps a TryLock without a deadline for no longer than AnswerTimeout.
func TestSpecQuorumTryLockOfASilentMajority(t *testing.T) {
	t.Parallel()
	t.Run("ends", specQuorum(engine.Options{AnswerTimeout: 500 * time.Millisecond}, func(q *majority) {
		q.slow(1, time.Hour)
		q.slow(2, time.Hour)
		began := time.Now()
		q.wantIs("TryLock", testkit.ResultOf(q.lock.TryLock(context.Background())), engine.ErrUncertain)
		if took := time.Since(began); took > 525*time.Millisecond {
			q.Errorf("it took %v", took)
		}
	}))
}

// As many calls wait for their turn in the process as may wait for a Mutex.
func TestSpecQuorumBounds(t *testing.T) {
	t.Parallel()
	t.Run("one waiter over MaxWaitersPerName is ErrOverloaded", specQuorum(engine.Options{MaxWaitersPerName: 2}, func(q *majority) {
		h, err := q.lock.Lock(q.Context())
		q.wantNil("Lock", err)
		first, second := q.lock.LockAsync(q.Context()), q.lock.LockAsync(q.Context())
		q.wantIs("a third waiter", testkit.ResultOf(q.lock.Lock(q.Context())), engine.ErrOverloaded)
		if refused := q.Stats().Refused; refused != 1 {
			q.Errorf("%d calls were refused, want 1", refused)
		}
		q.unlock(h)
		for _, waiter := range []*futures.Future[*engine.Hold]{first, second} {
			h, err := waiter.Wait(q.Context())
			q.wantNil("a waiter", err)
			q.unlock(h)
		}
	}))
	t.Run("those that wait for their turn count for MaxRequests and in Stats", specQuorum(engine.Options{MaxRequests: 2}, func(q *majority) {
		h, err := q.lock.Lock(q.Context())
		q.wantNil("Lock", err)
		synctest.Wait() // the part that came last is no request any more
		ctx, cancel := context.WithCancel(q.Context())
		first, second := q.lock.LockAsync(q.Context()), q.lock.LockAsync(ctx)
		waiting := func(want int64) {
			q.Helper()
			synctest.Wait()
			if got := q.engines[0].Stats().Waiting; got != want {
				q.Errorf("%d requests wait, want %d", got, want)
			}
		}
		waiting(2)
		q.wantIs("a third waiter", testkit.ResultOf(q.lock.Lock(q.Context(), engine.WithWait(time.Minute))), engine.ErrOverloaded)
		cancel()
		q.wantIs("a waiter that was cancelled", testkit.ResultOf(second.Wait(q.Context())), context.Canceled)
		waiting(1)
		q.unlock(h)
		h, err = first.Wait(q.Context())
		q.wantNil("the first waiter", err)
		waiting(0)
		q.unlock(h)
		waiting(0)
	}))
	t.Run("those that wait for their turn hear at once that the engine is shut down", specQuorum(engine.Options{}, func(q *majority) {
		h, err := q.lock.Lock(q.Context())
		q.wantNil("Lock", err)
		waiting := q.lock.LockAsync(q.Context())
		down := make(chan error)
		go func() { down <- q.Shutdown(q.Context()) }()
		q.wantIs("a waiter", testkit.ResultOf(waiting.Wait(q.Context())), engine.ErrClosed)
		q.wantIs("Lock", testkit.ResultOf(q.lock.Lock(q.Context())), engine.ErrClosed)
		q.wantIs("TryLock", testkit.ResultOf(q.lock.TryLock(q.Context())), engine.ErrClosed)
		q.wantHeld(h)
		q.unlock(h)
		q.wantNil("Shutdown", <-down)
	}))
	t.Run("a majority of engines with MaxRequests is ErrOverloaded", specQuorum(engine.Options{MaxRequests: 1}, func(q *majority) {
		for _, e := range q.engines[1:] {
			h, waiter := q.bubble.lock(e.Mutex("another")), q.queue(e.Mutex("another"))
			defer func() {
				q.unlock(h)
				q.unlock(waiter.granted())
			}()
		}
		ctx, cancel := context.WithTimeout(q.Context(), time.Minute)
		defer cancel()
		q.wantIs("Lock", testkit.ResultOf(q.lock.Lock(ctx)), engine.ErrOverloaded)
		q.wantIs("TryLock", testkit.ResultOf(q.lock.TryLock(ctx)), engine.ErrOverloaded)
	}))
}

// Of a call that ends before the majority has answered nothing is left, also where the answer comes later.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumOfACallThatEndsLeavesNothing(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		lock func(q *majority, ctx context.Context) error
		want []error
		not  error
	}{
		"Lock, cancelled":    {func(q *majority, ctx context.Context) error { return testkit.ResultOf(q.lock.Lock(ctx)) }, []error{context.Canceled}, nil},
		"TryLock, cancelled": {func(q *majority, ctx context.Context) error { return testkit.ResultOf(q.lock.TryLock(ctx)) }, []error{context.Canceled}, nil},
		"TryLockAsync, cancelled": {func(q *majority, ctx context.Context) error {
			return testkit.ResultOf(q.lock.TryLockAsync(ctx).Wait(q.Context()))
		}, []error{context.Canceled}, nil},
		"Lock WithWait": {func(q *majority, ctx context.Context) error {
			return testkit.ResultOf(q.lock.Lock(context.WithoutCancel(ctx), engine.WithWait(100*time.Millisecond)))
		}, []error{engine.ErrWaitTimeout}, context.Canceled},
		"TryLock under a deadline": {func(q *majority, _ context.Context) error {
			ctx, cancel := context.WithTimeout(q.Context(), 100*time.Millisecond)
			defer cancel()
			return testkit.ResultOf(q.lock.TryLock(ctx))
		}, []error{context.DeadlineExceeded}, context.Canceled},
		"TryLock of another's lock": {func(q *majority, ctx context.Context) error {
			q.occupied(0)
			q.occupied(1)
			q.slow(0, 0)
			q.slow(1, 0)
			return testkit.ResultOf(q.lock.TryLock(q.Context()))
		}, []error{engine.ErrHeld}, context.Canceled},
	} {
		t.Run(what, specQuorum(engine.Options{}, func(q *majority) {
			for i := range q.servers {
				q.slow(i, 200*time.Millisecond)
			}
			ctx, cancel := context.WithCancel(q.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			began := time.Now()
			err := test.lock(q, ctx)
			q.wantIs("the call", err, test.want...)
			if test.not != nil {
				q.wantIsNot("the call", err, test.not)
			}
			if took := time.Since(began); took > 150*time.Millisecond {
				q.Errorf("it took %v", took)
			}
			time.Sleep(10 * time.Second)
			for i, e := range q.engines {
				q.slow(i, 0)
				if state, err := e.Mutex("stock:7").Inspect(q.Context()); err != nil || state.Ours {
					q.Errorf("server %d: %+v, %v; want nothing of ours", i, state, err)
				}
			}
		}))
	}
}

// A TryLock that is refused says so when the parts that it had are free, also one that is granted 20 ms after the refusal.
func TestSpecQuorumThatIsRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("on a server that is slow", specQuorum(engine.Options{}, func(q *majority) {
		q.occupied(0)
		q.occupied(1)
		for i := range q.servers {
			q.slow(i, time.Duration(i)*10*time.Millisecond)
		}
		q.wantIs("TryLock", testkit.ResultOf(q.lock.TryLock(q.Context())), engine.ErrHeld)
		for range 100 {
			if keys := q.servers[2].Keys(); len(keys) > 0 {
				q.Fatalf("%q stand on the third server", keys)
			}
			time.Sleep(time.Millisecond)
		}
	}))
}

// A part that is granted when the hold has ended is given back.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumGivesBackWhatComesTooLate(t *testing.T) {
	t.Parallel()
	ends := map[string]func(q *majority, h *engine.Hold){
		"Unlock": func(q *majority, h *engine.Hold) { q.unlock(h) },
		"UnlockAsync": func(q *majority, h *engine.Hold) {
			q.wantNil("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(q.Context())))
		},
		"a loss": func(q *majority, h *engine.Hold) {
			q.servers[0].Lose("stock:7")
			q.wantEnded(h, engine.ErrLost)
		},
	}
	for what, end := range ends {
		t.Run(what+", of the first question", specQuorumClean(engine.Options{WatchLoss: true}, func(q *majority) {
			q.slow(2, time.Second)
			h := q.take()
			end(q, h)
			time.Sleep(20 * time.Second) // connections are slow, too, and the lease is longer
			q.slow(2, 0)
		}))
		t.Run(what+", of a repair", specQuorumClean(engine.Options{WatchLoss: true}, func(q *majority) {
			vacate := q.occupied(2)
			h := q.take()
			vacate()
			q.slow(2, time.Second)
			time.Sleep(10*time.Second + 500*time.Millisecond) // on its way there
			end(q, h)
			time.Sleep(20 * time.Second) // connections are slow, too, and the lease is longer
			q.slow(2, 0)
		}))
	}
}

// A part that came late, or again, ends the hold as any other does when it is lost and too few are left.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumFollowsPartsThatCameLate(t *testing.T) {
	t.Parallel()
	for what, late := range map[string]func(q *majority) *engine.Hold{
		"late": func(q *majority) *engine.Hold {
			q.slow(2, 50*time.Millisecond)
			h := q.take()
			time.Sleep(time.Second)
			q.slow(2, 0)
			return h
		},
		"by a repair": func(q *majority) *engine.Hold {
			vacate := q.occupied(2)
			h := q.take()
			vacate()
			time.Sleep(11 * time.Second)
			return h
		},
	} {
		for _, order := range [][]int{{0, 2}, {2, 0}, {2, 1}} {
			t.Run(fmt.Sprint(what, order), specQuorumClean(engine.Options{WatchLoss: true}, func(q *majority) {
				h := late(q)
				q.wantOn(h, 0, 1, 2)
				q.servers[order[0]].Lose("stock:7")
				q.wantHeld(h)
				q.servers[order[1]].Lose("stock:7")
				synctest.Wait()
				if !isClosed(h.Done()) {
					q.Error("Done is open, though one server of three has the lock")
				}
				q.wantEnded(h, engine.ErrLost)
				time.Sleep(time.Minute)
			}))
		}
	}
}

// What a server lacks it gets with the renewals.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumRepairsItself(t *testing.T) {
	t.Parallel()
	t.Run("where a server was down", specQuorum(engine.Options{}, func(q *majority) {
		q.servers[2].SetDown(true)
		h := q.take()
		time.Sleep(12 * time.Second)
		q.wantOn(h, 0, 1)
		q.servers[2].SetDown(false)
		time.Sleep(10 * time.Second)
		q.wantOn(h, 0, 1, 2)
		q.servers[0].SetDown(true)
		time.Sleep(manyLeases)
		q.wantHeld(h)
		q.unlock(h)
	}))
	t.Run("where another owner was", specQuorumClean(engine.Options{}, func(q *majority) {
		vacate := q.occupied(1)
		h := q.take()
		before := q.engines[1].Stats().Attempts
		time.Sleep(manyLeases)
		q.wantOn(h, 0, 2)
		if n := q.engines[1].Stats().Attempts - before; n < 11 || n > 13 { // one in the time between two renewals
			q.Errorf("asked %d times in %v", n, manyLeases)
		}
		vacate()
		time.Sleep(10 * time.Second)
		q.wantOn(h, 0, 1, 2)
		q.unlock(h)
	}))
	t.Run("with the note of the call", specQuorumClean(engine.Options{}, func(q *majority) {
		q.servers[2].SetDown(true)
		h, err := q.lock.Lock(q.Context(), engine.WithNote("report"))
		q.wantNil("Lock", err)
		q.servers[2].SetDown(false)
		time.Sleep(22 * time.Second)
		q.wantOn(h, 0, 1, 2)
		q.wantNote(q.engines[2].Mutex("stock:7"), "report")
		q.unlock(h)
	}))
	t.Run("where a server has forgotten its part, once all others were asked to renew theirs", specQuorumClean(engine.Options{}, func(q *majority) {
		h := q.take()
		time.Sleep(4 * time.Second)
		for _, i := range []int{2, 0, 1} { // at any time no more than one
			q.servers[i].Lose("stock:7")
			time.Sleep(24 * time.Second)
			q.wantOn(h, 0, 1, 2)
		}
		q.unlock(h)
	}))
	t.Run("but not a majority that has forgotten its parts at once, however far apart that is found", specQuorumClean(engine.Options{}, func(q *majority) {
		h := q.take()
		q.servers[2].Lose("stock:7") // so that its next part is renewed at another time than the others'
		time.Sleep(24 * time.Second)
		q.wantOn(h, 0, 1, 2)
		q.servers[0].Lose("stock:7")
		q.servers[2].Lose("stock:7")
		time.Sleep(11 * time.Second)
		q.wantEnded(h, engine.ErrLost)
	}))
	t.Run("where a link was down for longer than the lease", specQuorumClean(engine.Options{}, func(q *majority) {
		h := q.take()
		q.servers[2].SetDown(true)
		time.Sleep(2 * time.Minute)
		q.wantOn(h, 0, 1)
		q.servers[2].SetDown(false)
		time.Sleep(10 * time.Second)
		q.wantOn(h, 0, 1, 2)
		q.unlock(h)
	}))
	t.Run("and lasts while its servers take turns to fail", specQuorumClean(engine.Options{}, func(q *majority) {
		h := q.take()
		for n := range 15 {
			s := q.servers[n%3]
			s.SetDown(true)
			s.Lose("stock:7")
			time.Sleep(time.Minute)
			s.SetDown(false)
			time.Sleep(11 * time.Second)
			q.wantOn(h, 0, 1, 2)
		}
		if ids := h.TenureID(); len(ids) > 3*60 {
			q.Errorf("its parts are %q, want three", ids)
		}
		q.unlock(h)
	}))
	t.Run("once in the time between two renewals, however often a part is deleted", specQuorumClean(engine.Options{WatchLoss: true}, func(q *majority) {
		h := q.take()
		before := q.engines[2].Stats().Attempts
		for range int(manyLeases / time.Second) {
			q.servers[2].Lose("stock:7")
			time.Sleep(time.Second)
		}
		if n := q.engines[2].Stats().Attempts - before; n < 8 || n > 13 {
			q.Errorf("asked %d times in %v", n, manyLeases)
		}
		q.wantHeld(h)
		q.unlock(h)
	}))
	t.Run("but not past a force on all servers", specQuorumClean(engine.Options{WatchLoss: true}, func(q *majority) {
		h := q.take()
		time.Sleep(14 * time.Second) // after a renewal, and long before the next
		for _, s := range q.servers {
			q.wantHeld(h)
			s.Lose("stock:7")
			time.Sleep(time.Second)
			if h.Err() != nil {
				break
			}
		}
		q.wantEnded(h, engine.ErrLost)
		time.Sleep(time.Minute)
	}))
	t.Run("and asks nobody without its majority", specQuorumClean(engine.Options{WatchLoss: true}, func(q *majority) {
		vacate := q.occupied(2)
		h := q.take()
		time.Sleep(5 * time.Second)
		q.servers[1].Lose("stock:7")
		vacateAnother := q.occupied(1)
		q.wantEnded(h, engine.ErrLost)
		vacate()
		vacateAnother()
		time.Sleep(time.Minute)
	}))
	t.Run("as long as no engine is closed", specQuorum(engine.Options{}, func(q *majority) {
		h := q.take()
		q.engines[2].Close()
		time.Sleep(manyLeases)
		q.wantOn(h, 0, 1)
		q.servers[1].Lose("stock:7")
		time.Sleep(10 * time.Second)
		q.wantEnded(h, engine.ErrLost)
	}))
}

// The bounds of a hold are those of its repaired parts.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumRepairsKeepTheBoundsOfTheHold(t *testing.T) {
	t.Parallel()
	t.Run("MaxHold counts from the grant", specQuorumClean(engine.Options{MaxHold: 2 * time.Minute}, func(q *majority) {
		h := q.take()
		began := time.Now()
		for i, s := range q.servers {
			sleepUntil(began.Add(time.Duration(30*i+5) * time.Second))
			s.Lose("stock:7")
		}
		sleepUntil(began.Add(110 * time.Second))
		q.wantOn(h, 0, 1, 2)
		sleepUntil(began.Add(2*time.Minute - 100*time.Millisecond))
		q.wantHeld(h)
		sleepUntil(began.Add(2*time.Minute + time.Millisecond))
		q.wantEnded(h, engine.ErrMaxHold)
		time.Sleep(time.Minute)
	}))
	t.Run("no part outlives a fixed lease", specQuorumClean(engine.Options{}, func(q *majority) {
		vacate := q.occupied(2)
		h := q.take(engine.WithLease(time.Minute))
		end := time.Now().Add(time.Minute)
		deadline := h.Deadline()
		time.Sleep(10 * time.Second)
		vacate()
		time.Sleep(11 * time.Second)
		q.wantOn(h, 0, 1, 2)
		if got := h.Deadline(); !got.Equal(deadline) {
			q.Errorf("the repair has moved the deadline by %v", got.Sub(deadline))
		}
		sleepUntil(deadline.Add(time.Millisecond))
		if err := h.Err(); !errors.Is(err, engine.ErrLost) {
			q.Errorf("Err after the lease is %v, want ErrLost", err)
		}
		sleepUntil(end.Add(time.Millisecond))
		q.wantFree()
		time.Sleep(time.Minute)
	}))
	t.Run("a part that comes after Extend has the new lease", specQuorum(engine.Options{}, func(q *majority) {
		vacate := q.occupied(2)
		h := q.take(engine.WithLease(time.Minute))
		vacate()
		time.Sleep(10 * time.Second)
		q.wantNil("Extend", h.Extend(q.Context(), 10*time.Minute))
		time.Sleep(time.Minute)
		q.servers[2].Lose("stock:7") // nobody notices: nobody renews it
		time.Sleep(8 * time.Minute)
		q.wantHeld(h)
		q.servers[0].SetDown(true) // whose part lasts
		q.wantHeld(h)
		time.Sleep(time.Minute)
		q.wantEnded(h, engine.ErrLost)
	}))
	for _, lease := range []time.Duration{engine.MaxLease + time.Second, 2 * engine.MaxLease} {
		t.Run(fmt.Sprintf("an Extend that is refused moves no bound, %v", lease), specQuorumClean(engine.Options{}, func(q *majority) {
			vacate := q.occupied(2)
			h := q.take(engine.WithLease(time.Minute))
			if err := h.Extend(q.Context(), lease); !errors.Is(err, engine.ErrInvalid) {
				q.Errorf("Extend: %v, want ErrInvalid", err)
			}
			vacate()
			time.Sleep(30 * time.Second)
			q.wantOn(h, 0, 1, 2)
			if state, err := q.engines[2].Mutex("stock:7").Inspect(q.Context()); err != nil || state.TTL > 30*time.Second {
				q.Errorf("the late part has %v left, %v; want 30 s at most", state.TTL, err)
			}
			q.unlock(h)
		}))
	}
	for what, asked := range map[string]time.Duration{"first": 0, "repairing": 20 * time.Second} {
		t.Run("a part that comes during Extend has the new lease, "+what, specQuorumClean(engine.Options{}, func(q *majority) {
			vacate := func() {}
			if asked > 0 {
				vacate = q.occupied(2)
			}
			q.slow(2, time.Second)
			h := q.take(engine.WithLease(time.Minute))
			vacate()
			time.Sleep(asked + 500*time.Millisecond) // the question is on its way
			q.wantNil("Extend", h.Extend(q.Context(), 10*time.Minute))
			time.Sleep(5 * time.Second)
			q.slow(2, 0)
			q.wantOn(h, 0, 1, 2)
			if state, err := q.engines[2].Mutex("stock:7").Inspect(q.Context()); err != nil || state.TTL < 9*time.Minute {
				q.Errorf("the late part has %v left, %v; want nearly ten minutes", state.TTL, err)
			}
			q.unlock(h)
		}))
	}
	t.Run("Wanted hears of those who wait for a late part", specQuorum(engine.Options{}, func(q *majority) {
		vacate := q.occupied(2)
		h := q.take()
		wanted := h.Wanted()
		vacate()
		time.Sleep(11 * time.Second)
		q.wantOn(h, 0, 1, 2)
		waits := q.queue(q.engines[2].Mutex("stock:7"))
		if !isClosed(wanted) {
			q.Error("Wanted is open")
		}
		q.unlock(h)
		q.unlock(waits.wantGrantedNow())
	}))
}

// What a hold is worth is what its living parts are: a server that has lost its part does not count, whatever its lease was.
//
// invariant: quorum-counts-living-parts
func TestSpecQuorumCountsServersThatHaveIt(t *testing.T) {
	t.Parallel()
	t.Run("in Deadline", specQuorum(engine.Options{WatchLoss: true}, func(q *majority) {
		h := q.take()
		first := h.Deadline()
		time.Sleep(5 * time.Second)
		q.servers[0].SetDown(true)
		time.Sleep(6 * time.Second)
		if got := h.Deadline().Sub(first).Round(time.Second); got != 10*time.Second {
			q.Errorf("with two renewed parts it lasts %v longer, want 10s", got)
		}
		q.servers[1].Lose("stock:7")
		q.occupied(1)
		q.wantHeld(h)
		if got := h.Deadline(); !got.Equal(first) {
			q.Errorf("with one renewed part it lasts %v longer than the other, want no longer", got.Sub(first))
		}
		sleepUntil(first)
		if err := h.Err(); !errors.Is(err, engine.ErrLost) {
			q.Errorf("Err at the deadline is %v, want ErrLost", err)
		}
	}))
	for n := range 3 {
		fail := func(q *majority) {
			for i := range n {
				q.servers[i].Deny("stock:7", virtual.NoPermission)
				q.servers[i].Deny("stock:7", virtual.NoPermission)
			}
		}
		judged := func(q *majority, what string, err error) {
			q.Helper()
			switch {
			case n < 2:
				q.wantNil(what, err)
			case what == "Extend": // which is repeated until AnswerTimeout
				q.wantIs(what, err, engine.ErrUnavailable)
			default:
				q.wantIs(what, err, engine.ErrRefused)
			}
		}
		t.Run(fmt.Sprintf("in Unlock, refused by %d", n), specQuorum(engine.Options{}, func(q *majority) {
			h := q.take()
			fail(q)
			judged(q, "Unlock", h.Unlock(q.Context()))
		}))
		t.Run(fmt.Sprintf("in UnlockAsync, refused by %d", n), specQuorum(engine.Options{}, func(q *majority) {
			h := q.take()
			fail(q)
			judged(q, "UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(q.Context())))
		}))
		t.Run(fmt.Sprintf("in Extend, refused by %d", n), specQuorum(engine.Options{}, func(q *majority) {
			h := q.take(engine.WithLease(time.Minute))
			fail(q)
			judged(q, "Extend", h.Extend(q.Context(), 2*time.Minute))
		}))
		t.Run(fmt.Sprintf("in TryLock, refused by %d", n), specQuorum(engine.Options{}, func(q *majority) {
			fail(q)
			h, err := q.lock.TryLock(q.Context())
			judged(q, "TryLock", err)
			if (h == nil) != (err != nil) {
				q.Errorf("TryLock = %v, %v", h, err)
			}
		}))
	}
	t.Run("in Unlock on a bare majority, refused by one", specQuorum(engine.Options{}, func(q *majority) {
		q.occupied(2)
		h := q.take()
		q.servers[0].Deny("stock:7", virtual.NoPermission)
		q.wantIs("Unlock", h.Unlock(q.Context()), engine.ErrRefused)
	}))
	t.Run("in a MultiLock, refused by one", specQuorum(engine.Options{}, func(q *majority) {
		multi, err := engine.Multi(q.engines[0].Mutex("a"), q.engines[1].Mutex("b"))
		q.wantNil("Multi", err)
		for _, i := range []int{0, 1} {
			refused := func() { q.servers[i].Deny(string(rune('a'+i)), virtual.NoPermission) }
			refused()
			q.wantIs("TryLock", testkit.ResultOf(multi.TryLock(q.Context())), engine.ErrRefused)
			h := q.bubble.lock(multi, engine.WithLease(time.Minute))
			refused()
			q.wantIs("Extend", h.Extend(q.Context(), time.Hour), engine.ErrUnavailable) // it is repeated until AnswerTimeout
			refused()
			q.wantIs("Unlock", h.Unlock(q.Context()), engine.ErrRefused)
			time.Sleep(time.Minute)
			h = q.bubble.lock(multi)
			refused()
			q.wantIs("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(q.Context())), engine.ErrRefused)
			time.Sleep(time.Minute)
		}
	}))
}

// Two locks of one name may be on different servers, as while a fleet gets more of them.
func TestSpecQuorumOnFewerServersWaitsInTheLineOfOneOfThem(t *testing.T) {
	specQuorum(engine.Options{}, func(q *majority) {
		q.goDown() // so the line is that of the second server
		q.occupied(1)
		q.occupied(2)
		waits := q.queue(q.lock)
		time.Sleep(100 * time.Millisecond)
		waits.wantWaiting()
		alone, err := engine.Quorum("stock:7", q.Engine)
		q.wantNil("Quorum", err)
		next := q.queue(alone)
		waits.cancel(context.Canceled)
		q.redis.SetDown(false)
		q.unlock(next.granted())
	})(t)
}

// Who holds a majority hears on how many servers it stands.
func TestSpecQuorumTellsTheObserver(t *testing.T) {
	r := &record{}
	o := r.observer()
	o.Part = func(p engine.Part) {
		r.add("%s %s on %d of %d, server %d: %s", p.Kind, p.Name, p.Held, p.All, p.Server, sentinelsOf(p.Err))
	}
	specQuorum(engine.Options{Observer: engine.Observers(o, &engine.Observer{})}, func(q *majority) {
		q.slow(1, 50*time.Millisecond)
		h := q.take()
		time.Sleep(time.Second)
		q.slow(1, 0)
		q.wantSaid(r, "quorum stock:7 granted after 0s") // the third server is late, not missing
		q.servers[2].SetDown(true)
		time.Sleep(time.Minute)
		q.wantSaid(r, "quorum stock:7 on 2 of 3, server 2: lost")
		q.servers[2].SetDown(false)
		time.Sleep(10 * time.Second)
		q.wantSaid(r, "quorum stock:7 on 3 of 3, server 2: ")
		q.unlock(h)
		q.wantSaid(r, "quorum stock:7 ended after 1m11s: unlocked")
		if held, all := h.Parts(); held != 0 || all != 3 {
			q.Errorf("%d of %d parts after Unlock, want 0 of 3", held, all)
		}
		q.occupied(0)
		h = q.take()
		got := r.lines()
		slices.Sort(got)
		if want := []string{"quorum stock:7 granted after 0s", "quorum stock:7 on 2 of 3, server 0: held"}; !slices.Equal(got, want) {
			q.Errorf("the observer was told %q, want %q", got, want)
		}
		q.unlock(h)
	})(t)
}
