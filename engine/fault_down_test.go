package engine_test

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
)

// outage is calls that keep coming while Redis is down.
type outage struct {
	t     *testing.T
	e     *engine.Engine
	lasts time.Duration
	began time.Time

	asked, notSent, overloaded, timedOut atomic.Int64

	mu     sync.Mutex // guards the rest
	waits  []*futures.Future[*engine.Hold]
	failed []time.Duration // how long it took to be told
}

// callers is how many goroutines make calls.
const callers = 32

// come makes so many calls, spread evenly over the outage.
func (o *outage) come(calls int) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			took := make([]time.Duration, 0, calls/callers)
			for n := range calls / callers {
				time.Sleep(time.Until(o.began.Add(o.lasts * time.Duration(n) / time.Duration(calls/callers))))
				if d, told := o.one(i + n*callers); told {
					took = append(took, d)
				}
			}
			o.mu.Lock()
			o.failed = append(o.failed, took...)
			o.mu.Unlock()
		})
	}
	wg.Wait()
}

// one is a call: every other asks once, the rest wait for as long as their contexts say. told: it failed, after took.
func (o *outage) one(n int) (took time.Duration, told bool) {
	o.asked.Add(1)
	m := o.e.Mutex(fmt.Sprintf("down:%d", n%1000))
	began := time.Now()
	if n%2 == 0 {
		h, err := m.TryLock(context.Background())
		took = time.Since(began)
		switch {
		case errors.Is(err, engine.ErrNotSent):
			o.notSent.Add(1)
		case errors.Is(err, engine.ErrOverloaded):
			o.overloaded.Add(1)
		default:
			o.t.Errorf("TryLock: %v, %v", h, err)
		}
		return took, true
	}
	if n%16 == 1 {
		return o.bounded(m, n)
	}
	f := m.LockAsync(context.Background())
	if _, err := f.Result(); errors.Is(err, engine.ErrOverloaded) {
		o.overloaded.Add(1)
		return time.Since(began), true
	} else if !errors.Is(err, futures.ErrPending) {
		o.t.Errorf("Lock: %v", err)
	}
	o.mu.Lock()
	o.waits = append(o.waits, f)
	o.mu.Unlock()
	return 0, false
}

// bounded waits for a moment and is told that it has ended, not earlier and by nothing else, unless it is one too many.
func (o *outage) bounded(m *engine.Mutex, n int) (took time.Duration, told bool) {
	wait, began := time.Duration(n%10)*time.Millisecond, time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := m.Lock(ctx)
	took = time.Since(began)
	switch {
	case errors.Is(err, engine.ErrOverloaded):
		o.overloaded.Add(1)
		return took, true
	case errors.Is(err, context.DeadlineExceeded) && took >= wait:
		o.timedOut.Add(1)
	default:
		o.t.Errorf("Lock for %v: %v after %v", wait, err, took)
	}
	return 0, false
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
func TestFaultDownWhileCallsArrive(t *testing.T) {
	const most = 20_000
	server := redistest.Start(t)
	e := connect(t, server.Addr(), func(o *engine.Options) { o.MaxRequests = most })
	mustUnlock(t, mustLock(t, e.Mutex("before")))
	server.Kill()
	redistest.Await(t, "the link to be down", func() bool {
		_, err := e.Mutex("another").TryLock(soon(t))
		return errors.Is(err, engine.ErrNotSent) && !e.Stats().Up
	})
	before := heap()
	calls := times(t, 1_000_000, 50_000)
	o := &outage{t: t, e: e, lasts: lasting(t, 30*time.Second, 3*time.Second), began: time.Now()}
	o.come(calls)
	grown := int64(heap()) - int64(before)
	waiting := len(o.waits)

	server.Restart()
	back := time.Now()
	all := make([]*futures.Future[*engine.Hold], waiting)
	for i, f := range o.waits {
		all[i] = f.Then(func(h *engine.Hold, err error) {
			if err == nil {
				err = h.Unlock(context.Background())
			}
			if err != nil {
				t.Errorf("a lock that waited: %v", err)
			}
		})
	}
	if _, err := futures.All(all...).Wait(soon(t)); err != nil {
		t.Fatal(err)
	}
	served := time.Since(back)
	slices.Sort(o.failed)
	p99 := o.failed[len(o.failed)*99/100]
	t.Logf("%d calls in %v: %d not sent, %d beyond the bounds, %d timed out, %d waited and were served within %v; failed after %v in the middle, %v at p99; %d kB more memory",
		o.asked.Load(), o.lasts, o.notSent.Load(), o.overloaded.Load(), o.timedOut.Load(), waiting, served.Round(time.Millisecond),
		o.failed[len(o.failed)/2], p99, grown>>10)
	if limit := int64(64 << 20); grown > limit { // 3 kB for each who waits
		t.Errorf("%d kB more memory, want at most %d", grown>>10, limit>>10)
	}
	limit := 100 * time.Millisecond // a busy machine
	if calls >= 1_000_000 {
		limit = time.Millisecond
	}
	if p99 > limit {
		t.Errorf("one in a hundred was told only after %v, want %v", p99, limit)
	}
	if o.overloaded.Load() == 0 || o.notSent.Load() == 0 || o.timedOut.Load() == 0 || waiting == 0 {
		t.Error("not every way to fare was seen")
	}
	checkQuiet(t, server, e, 0)
}
