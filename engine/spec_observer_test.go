package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// record keeps what an observer is told, as lines.
type record struct {
	mu   sync.Mutex
	said []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// lines are what was said since the last call, when everything has happened that can without time.
func (r *record) lines() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.said
	r.said = nil
	return said
}

func (r *record) observer() *engine.Observer {
	whole := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
	return &engine.Observer{
		Granted: func(g engine.Grant) {
			how := ""
			if g.HandedOn {
				how += " handed on"
			}
			if g.Reentry {
				how += " again"
			}
			r.add("%s %s granted after %v%s", g.Kind, g.Name, whole(g.Waited), how)
		},
		Failed: func(f engine.Failure) {
			r.add("%s %s failed after %v: %s", f.Kind, f.Name, whole(f.Waited), sentinelsOf(f.Err))
		},
		Ended: func(e engine.End) {
			r.add("%s %s ended after %v: %s", e.Kind, e.Name, whole(e.Held), sentinelsOf(e.Err))
		},
	}
}

// sentinelsOf names what an error is.
func sentinelsOf(err error) string {
	var names []string
	for name, target := range map[string]error{
		"held": engine.ErrHeld, "timeout": engine.ErrWaitTimeout, "unavailable": engine.ErrUnavailable, "lost": engine.ErrLost, "max": engine.ErrMaxHold,
		"unlocked": engine.ErrUnlocked, "closed": engine.ErrClosed, "invalid": engine.ErrInvalid, "canceled": context.Canceled,
	} {
		if errors.Is(err, target) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "+")
}

// wantSaid compares what an observer was told.
func (b *bubble) wantSaid(r *record, want ...string) {
	b.Helper()
	if got := r.lines(); !slices.Equal(got, want) {
		b.Errorf("the observer was told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// specObserved is spec for an engine with an observer.
func specObserved(opts engine.Options, test func(b *bubble, r *record)) func(*testing.T) {
	r := &record{}
	opts.Observer = r.observer()
	return spec(opts, func(b *bubble) { test(b, r) })
}

func TestSpecObserver(t *testing.T) {
	t.Parallel()
	t.Run("is told of a grant and of the end of the hold", specObserved(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.wantSaid(r, "mutex stock:7 granted after 0s")
		waiter := b.queue(b.Mutex("stock:7"))
		time.Sleep(3 * time.Second)
		b.unlock(h)
		h = waiter.wantGrantedNow()
		got := r.lines()
		slices.Sort(got) // of two holds
		if want := []string{"mutex stock:7 ended after 3s: unlocked", "mutex stock:7 granted after 3s handed on"}; !slices.Equal(got, want) {
			b.Errorf("the observer was told %q, want %q", got, want)
		}
		time.Sleep(time.Second)
		b.wantNil("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(b.Context())))
		b.wantSaid(r, "mutex stock:7 ended after 1s: unlocked")
	}))
	t.Run("is told whether a grant was handed on, and of a re-entry", specObserved(engine.Options{HandoffTime: time.Second}, func(b *bubble, r *record) {
		me := engine.WithOwner(engine.NewOwner())
		for _, lock := range []engine.Locker{b.Mutex("m"), b.RWMutex("w").Writer()} {
			kind, name := "mutex", "m"
			if lock.Name() == "w" {
				kind, name = "write", "w"
			}
			first := b.lock(lock, me)
			second := b.lock(lock, me)
			b.wantSaid(r, kind+" "+name+" granted after 0s", kind+" "+name+" granted after 0s again")
			b.unlock(second)
			waiter := b.queue(lock)
			r.lines()
			b.unlock(first)
			third := waiter.wantGrantedNow()
			if got := r.lines(); !slices.Contains(got, kind+" "+name+" granted after 0s handed on") {
				b.Errorf("the observer was told %q", got)
			}
			b.unlock(third)
			first = b.lock(lock, me)
			r.lines()
			second = b.lock(lock, me, engine.WithLease(time.Minute)) // longer than the tenure lasts: a renewal comes first
			b.wantSaid(r, kind+" "+name+" granted after 0s again")
			b.unlock(second)
			b.unlock(first)
			r.lines()
		}
		first := b.lock(b.RWMutex("r").Reader())
		second := b.lock(b.RWMutex("r").Reader())
		b.wantSaid(r, "read r granted after 0s", "read r granted after 0s handed on")
		if got, want := b.Stats().Handoffs, int64(3); got != want {
			b.Errorf("%d handoffs, want %d", got, want)
		}
		b.unlock(first)
		b.unlock(second)
	}))
	t.Run("is told of every kind", specObserved(engine.Options{}, func(b *bubble, r *record) {
		for _, lock := range []*engine.Mutex{b.FencedMutex("f"), b.SpinMutex("s"), b.SimpleMutex("e"), b.FairMutex("q"), b.RWMutex("rw").Reader(), b.RWMutex("rw").Writer()} {
			b.unlock(b.lock(lock))
		}
		b.wantSaid(r, "fenced f granted after 0s", "fenced f ended after 0s: unlocked", "spin s granted after 0s", "spin s ended after 0s: unlocked",
			"simple e granted after 0s", "simple e ended after 0s: unlocked",
			"fair q granted after 0s", "fair q ended after 0s: unlocked", "read rw granted after 0s", "read rw ended after 0s: unlocked",
			"write rw granted after 0s", "write rw ended after 0s: unlocked")

		permits := b.PermitSemaphore("p")
		b.wantNil("TrySetPermits", testkit.ResultOf(permits.TrySetPermits(b.Context(), 1)))
		h, err := permits.Acquire(b.Context(), 1)
		b.wantNil("Acquire", err)
		b.wantIs("TryAcquire", testkit.ResultOf(permits.TryAcquireAsync(b.Context(), 1).Wait(b.Context())), engine.ErrHeld)
		synctest.Wait() // a worker tells of it
		b.unlock(h)
		b.wantSaid(r, "permits p granted after 0s", "permits p failed after 0s: held", "permits p ended after 0s: unlocked")

		count := b.Semaphore("c")
		b.wantNil("TrySetPermits", testkit.ResultOf(count.TrySetPermits(b.Context(), 2)))
		b.wantNil("Acquire", count.Acquire(b.Context(), 1))
		b.wantNil("AcquireAsync", testkit.ResultOf(count.AcquireAsync(b.Context(), 1).Wait(b.Context())))
		synctest.Wait() // a worker tells of it
		b.wantIs("TryAcquire", count.TryAcquire(b.Context(), 1), engine.ErrHeld)
		b.wantSaid(r, "semaphore c granted after 0s", "semaphore c granted after 0s", "semaphore c failed after 0s: held")

		b.wantNil("Wait for a latch", b.CountDownLatch("l").Wait(b.Context()))
		b.wantSaid(r)
	}))
	t.Run("is told of several locks as of one", specObserved(engine.Options{}, func(b *bubble, r *record) {
		multi, err := engine.Multi(b.Mutex("a"), b.Mutex("b"))
		b.wantNil("Multi", err)
		quorum, err := engine.Quorum("q", b.Engine)
		b.wantNil("Quorum", err)
		for _, l := range []engine.Locker{multi, quorum} {
			h := b.lock(l)
			b.wantIs("TryLock", testkit.ResultOf(l.TryLock(b.Context())), engine.ErrHeld)
			b.wantIs("Lock", testkit.ResultOf(l.Lock(b.Context(), engine.WithWait(time.Second))), engine.ErrWaitTimeout, engine.ErrHeld)
			b.unlock(h)
		}
		b.wantSaid(r, "multi a,b granted after 0s", "multi a,b failed after 0s: held", "multi a,b failed after 1s: held+timeout", "multi a,b ended after 1s: unlocked",
			"quorum q granted after 0s", "quorum q failed after 0s: held", "quorum q failed after 1s: held+timeout", "quorum q ended after 1s: unlocked")
		h := b.lock(multi)
		b.redis.Lose("a")
		<-h.Done()
		b.wantSaid(r, "multi a,b granted after 0s", "multi a,b ended after 10s: lost")
	}))
	t.Run("is told why a call failed", specObserved(engine.Options{}, func(b *bubble, r *record) {
		b.wantIs("an empty name", testkit.ResultOf(b.Mutex("").Lock(b.Context())), engine.ErrInvalid)
		b.wantIs("no lease", testkit.ResultOf(b.Mutex("a").LockAsync(b.Context(), engine.WithLease(0)).Wait(b.Context())), engine.ErrInvalid)
		b.wantSaid(r, "mutex  failed after 0s: invalid", "mutex a failed after 0s: invalid")
		h := b.lock(b.another(engine.Options{}).Mutex("a"))
		f := b.Mutex("a").LockAsync(b.Context())
		time.Sleep(2 * time.Second)
		f.Cancel()
		b.wantSaid(r, "mutex a failed after 2s: canceled")
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		b.wantIs("Lock", testkit.ResultOf(b.Mutex("a").Lock(ctx)), context.DeadlineExceeded)
		b.wantSaid(r, "mutex a failed after 1s: held")
		b.unlock(h)
		b.goDown()
		r.lines()
		b.wantIs("TryLock", testkit.ResultOf(b.Mutex("a").TryLock(b.Context())), engine.ErrNotSent)
		b.wantSaid(r, "mutex a failed after 0s: unavailable")
	}))
	t.Run("is told why a hold ended", specObserved(engine.Options{MaxHold: time.Minute}, func(b *bubble, r *record) {
		b.lock(b.Mutex("max"))
		lease := b.lock(b.Mutex("fixed"), engine.WithLease(20*time.Second))
		time.Sleep(30 * time.Second)
		b.wantEnded(lease, engine.ErrLost)
		time.Sleep(40 * time.Second)
		b.wantSaid(r, "mutex max granted after 0s", "mutex fixed granted after 0s", "mutex fixed ended after 19.8s: lost", "mutex max ended after 1m0s: lost+max")
		b.lock(b.Mutex("closed"))
		b.Close()
		b.wantSaid(r, "mutex closed granted after 0s", "mutex closed ended after 0s: closed+lost")
		b.wantIs("Lock", testkit.ResultOf(b.Mutex("closed").Lock(b.Context())), engine.ErrClosed)
		b.wantSaid(r, "mutex closed failed after 0s: closed")
	}))
	t.Run("may be several, told in their order, one by one", func(t *testing.T) {
		var r record
		told := func(who string) *engine.Observer {
			return &engine.Observer{Granted: func(engine.Grant) { r.add("%s", who); panic(who) }}
		}
		ended := &engine.Observer{Ended: func(engine.End) { r.add("ended") }}
		spec(engine.Options{Observer: engine.Observers(nil, told("first"), ended, nil, told("second"))}, func(b *bubble) {
			b.unlock(b.lock(b.Mutex("a")))
			b.wantSaid(&r, "first", "second", "ended")
		})(t)
		if engine.Observers() != nil || engine.Observers(nil) != nil || engine.Observers(ended) != ended {
			t.Error("none is not nil, or one is not itself")
		}
	})
	t.Run("of its end leaves a holder told who waits", specObserved(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("upload"))
		wanted := h.Wanted()
		waiter := b.queue(b.Mutex("upload"))
		if !isClosed(wanted) {
			b.Error("somebody waits, and Wanted is open")
		}
		b.unlock(h)
		b.unlock(waiter.wantGrantedNow())
	}))
	t.Run("of its end is told of that of a hold with a note, too", specObserved(engine.Options{}, func(b *bubble, r *record) {
		b.unlock(b.lock(b.Mutex("a"), engine.WithNote("upload")))
		b.wantSaid(r, "mutex a granted after 0s", "mutex a ended after 0s: unlocked")
	}))
	t.Run("may have none of the functions", spec(engine.Options{Observer: &engine.Observer{}}, func(b *bubble) {
		b.unlock(b.lock(b.Mutex("a")))
		b.wantIs("Lock", testkit.ResultOf(b.Mutex("").Lock(b.Context())), engine.ErrInvalid)
	}))
}

// An observer that blocks or panics does nothing to anybody else.
func TestSpecObserverMisbehaves(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	opts := engine.Options{Lease: 3 * time.Second, Observer: &engine.Observer{Ended: func(engine.End) { <-free }}}
	t.Run("by blocking", func(t *testing.T) {
		spec(opts, func(b *bubble) {
			free = make(chan struct{})
			for i := range 300 { // more than there are callback workers
				h := b.lock(b.Mutex(fmt.Sprint("blocks", i)))
				b.wantNil("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(b.Context())))
			}
			h := b.lock(b.Mutex("renewed"))
			time.Sleep(10 * time.Second)
			b.wantHeld(h)
			go b.unlock(h)
			synctest.Wait()
			b.lock(b.another(engine.Options{}).Mutex("renewed")) // free, although its Unlock is still being told of
			close(free)
			synctest.Wait()
			if got := b.Stats().Overflowed; got == 0 {
				b.Error("no callback got a goroutine of its own")
			}
		})(t)
	})
	var log bytes.Buffer
	panics := func(what string) { panic(what) }
	opts = engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: &engine.Observer{
		Granted: func(engine.Grant) { panics("granted") }, Failed: func(engine.Failure) { panics("failed") }, Ended: func(engine.End) { panics("ended") },
	}}
	t.Run("by a panic", spec(opts, func(b *bubble) {
		h := b.lock(b.Mutex("a"))
		b.wantIs("TryLock", testkit.ResultOf(b.Mutex("a").TryLock(b.Context())), engine.ErrHeld)
		b.unlock(h)
		h, err := b.Mutex("a").LockAsync(b.Context()).Wait(b.Context())
		b.wantNil("LockAsync", err)
		b.unlock(h)
		b.Close()
		synctest.Wait() // for the goroutine that passes log records on
		for _, what := range []string{"granted", "failed", "ended"} {
			if want := "a callback panicked\" panic=" + what; !strings.Contains(log.String(), want) {
				b.Errorf("the log lacks %s:\n%s", want, log.String())
			}
		}
	}))
}
