package faults_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// outage is calls that keep coming while Redis is down.
type outage struct {
	t     *testing.T
	e     *engine.Engine
	lasts time.Duration
	began time.Time

	mu         sync.Mutex // guards the rest
	waits      []*futures.Future[*engine.Hold]
	timedOut   int
	notSent    []time.Duration // how long it took to be told
	overloaded []time.Duration
}

// come makes so many calls, spread evenly over the outage: every other asks once, the rest wait, some for a moment.
func (o *outage) come(calls int) {
	const callers = 32
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range calls / callers {
				time.Sleep(time.Until(o.began.Add(o.lasts * time.Duration(n) / time.Duration(calls/callers)))) // sleeps: the pace of calls
				m := o.e.Mutex(fmt.Sprintf("down:%d", (i+n*callers)%1000))
				switch {
				case n%2 == 0:
					began := time.Now()
					_, err := m.TryLock(context.Background())
					o.told(err, time.Since(began))
				case n%16 == 1:
					o.bounded(m, time.Duration(n%10)*time.Millisecond)
				default:
					o.patient(m)
				}
			}
		})
	}
	wg.Wait()
}

// told notes a call that failed, as it must: Redis is down, or too many wait already.
func (o *outage) told(err error, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case errors.Is(err, engine.ErrNotSent):
		o.notSent = append(o.notSent, took)
	case errors.Is(err, engine.ErrOverloaded):
		o.overloaded = append(o.overloaded, took)
	default:
		o.t.Errorf("a call while Redis is down: %v", err)
	}
}

// bounded waits for a moment and is told that it has ended, not earlier and by nothing else, unless it is one too many.
func (o *outage) bounded(m *engine.Mutex, wait time.Duration) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := m.Lock(ctx)
	took := time.Since(began)
	if errors.Is(err, context.DeadlineExceeded) && took >= wait {
		o.mu.Lock()
		o.timedOut++
		o.mu.Unlock()
		return
	}
	o.told(err, took)
}

// patient waits for as long as it takes, unless it is one too many.
func (o *outage) patient(m *engine.Mutex) {
	began := time.Now()
	f := m.LockAsync(context.Background())
	if _, err := f.Result(); !errors.Is(err, futures.ErrPending) {
		o.told(err, time.Since(began))
		return
	}
	o.mu.Lock()
	o.waits = append(o.waits, f)
	o.mu.Unlock()
}

// p99 is what one in a hundred takes longer than.
func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100]
}

// heap is what is in use when all garbage is gone.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// Redis is down for half a minute while a million calls arrive (in full; else fewer, for less long). Those that ask once
// and those beyond the bounds are told at once, the others wait as their contexts say; memory stays within bounds; when
// Redis is back all who still wait are served, and nothing was told that is not so.
// invariant: bounds-refuse-only-new-requests
func TestFaultDownWhileCallsArrive(t *testing.T) {
	server := redistest.Start(t)
	calls := testkit.Times(t, 1_000_000, 5_000)
	most := calls / 4
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.MaxRequests = most })
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("before")))
	server.Kill()
	redistest.Await(t, "the link to be down", func() bool {
		_, err := e.Mutex("another").TryLock(testkit.Soon(t))
		return errors.Is(err, engine.ErrNotSent) && !e.Stats().Up
	})
	before := heap()
	o := &outage{t: t, e: e, lasts: testkit.Lasting(t, 30*time.Second, time.Second), began: time.Now()}
	o.come(calls)
	grown := int64(heap()) - int64(before)
	waiting := len(o.waits)
	if len(o.notSent) == 0 || len(o.overloaded) == 0 || o.timedOut == 0 || waiting == 0 {
		t.Fatal("not every way to fare was seen")
	}

	server.Restart()
	back := time.Now()
	all := make([]*futures.Future[*engine.Hold], waiting)
	var after atomic.Int64 // so many have had their turn
	for i, f := range o.waits {
		all[i] = f.Then(func(h *engine.Hold, err error) {
			defer after.Add(1)
			if err == nil {
				err = testkit.Patiently(h.Unlock)
			}
			if err != nil {
				t.Errorf("a lock that waited: %v", err)
			}
		})
	}
	for over := testkit.Reached(int64(waiting), after.Load); !over(); {
		time.Sleep(time.Millisecond) // sleeps: the pace of questions
	}
	if _, err := futures.All(all...).Wait(testkit.Soon(t)); err != nil {
		t.Fatal(err)
	}
	served := time.Since(back)
	t.Logf("%d calls in %v: %d not sent, p99 %v; %d beyond the bounds, p99 %v; %d timed out; %d waited and were served within %v; %d kB more memory",
		calls, o.lasts, len(o.notSent), p99(o.notSent), len(o.overloaded), p99(o.overloaded), o.timedOut, waiting, served.Round(time.Millisecond), grown>>10)
	if limit := int64(most) * 3 << 10; grown > limit {
		t.Errorf("%d kB more memory, want at most %d: 3 for each who waits", grown>>10, limit>>10)
	}
	limit := time.Second // a busy machine
	if calls >= 1_000_000 {
		limit = time.Millisecond
	}
	if p99(o.notSent) > limit || p99(o.overloaded) > limit {
		t.Errorf("one in a hundred was told only after more than %v", limit)
	}
	testkit.CheckQuiet(t, server, e, 0)
}
