package engine_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// Every call that can wait, times every way to bound it, for every kind: what the caller gets, and what stands in Redis then and in
// the end. A bound is there for the call, not for what it gave: whatever becomes of a context afterwards, a hold lives on, on
// all servers.

// world is one test: servers, the engine of each on which calls are made, and another engine of each, which looks and competes.
type world struct {
	*testing.T
	servers      []*virtual.Redis
	ours, theirs []*engine.Engine
}

// gift is what a call gave its caller.
type gift struct {
	err  func() error // nil while it is held
	free func() error
}

// subject is what calls are made on.
type subject struct {
	calls  map[string]call // by their names in the API
	whole  int             // how many owners, or permits, one grant has in Redis, on all servers
	taken  func() int      // how many there are
	occupy func() (vacate func())
	keeps  func(key string) bool // the keys that stay when nobody has anything
	words  string                // what is known of it while others have it
}

// call is one call of the API.
type call struct {
	try   bool // it does not wait
	async bool
	alone func() // called before it, because it cannot be made on what is free, nor on what others occupy by the subject
	open  bool   // what it waits for is nobody's afterwards: a latch that is open
	make  func(ctx context.Context, opts ...engine.LockOption) (gift, error)
}

func holdOf(h *engine.Hold, err error) (gift, error) {
	if err != nil {
		if h != nil {
			panic("a hold and an error")
		}
		return gift{}, err
	}
	return gift{h.Err, func() error { return h.Unlock(context.Background()) }}, nil
}

// held is the hold of a call that must succeed.
func (w *world) held(h *engine.Hold, err error) *engine.Hold {
	w.Helper()
	if err != nil {
		w.Fatalf("a lock: %v", err)
	}
	return h
}

// set checks a call that must have set something.
func (w *world) set(set bool, err error) {
	w.Helper()
	if !set || err != nil {
		w.Fatal(set, err)
	}
}

// answer waits for a future as who has all the time.
func answer[T any](f *futures.Future[T]) (T, error) { return f.Wait(context.Background()) }

// lockerCalls are those of a Locker, whose type has that name.
func (w *world) lockerCalls(name string, l engine.Locker) map[string]call {
	return map[string]call{
		name + ".Lock":    {make: func(ctx context.Context, o ...engine.LockOption) (gift, error) { return holdOf(l.Lock(ctx, o...)) }},
		name + ".TryLock": {try: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) { return holdOf(l.TryLock(ctx, o...)) }},
		name + ".LockAsync": {async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
			return holdOf(answer(l.LockAsync(ctx, o...)))
		}},
		name + ".TryLockAsync": {try: true, async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
			return holdOf(answer(l.TryLockAsync(ctx, o...)))
		}},
		"Do": {make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
			inside, work, done := make(chan *engine.Hold, 1), make(chan struct{}), make(chan error, 1)
			leave := sync.OnceFunc(func() { close(work) })
			w.Cleanup(leave)
			go func() {
				done <- engine.Do(ctx, l, func(_ context.Context, h *engine.Hold) error { inside <- h; <-work; return nil }, o...)
			}()
			select {
			case h := <-inside:
				return gift{h.Err, func() error { leave(); return <-done }}, nil
			case err := <-done:
				return gift{}, err
			}
		}},
	}
}

// locked counts the owners of names on the servers.
func (w *world) locked(of func(*engine.Engine) []*engine.Mutex) func() int {
	return func() (n int) {
		for _, e := range w.theirs {
			for _, m := range of(e) {
				n += w.stateOf(m).Count
			}
		}
		return n
	}
}

// locker is a subject that is locked as a whole.
func (w *world) locker(name string, whole int, ours engine.Locker, of func(*engine.Engine) []*engine.Mutex) *subject {
	return &subject{
		calls: w.lockerCalls(name, ours), whole: whole, taken: w.locked(of), words: "held by another owner, lease ends in",
		occupy: func() func() {
			var held []*engine.Hold
			for _, e := range w.theirs {
				for _, m := range of(e) {
					if m.Kind() == engine.KindRead {
						m = e.RWMutex(m.Name()).Writer()
					}
					held = append(held, w.held(m.Lock(context.Background())))
				}
			}
			return func() {
				for _, h := range held {
					if err := h.Unlock(context.Background()); err != nil {
						w.Errorf("Unlock by others: %v", err)
					}
				}
			}
		},
		keeps: func(key string) bool { return strings.HasPrefix(key, "redisson_lock_token:") }, // a fenced lock's
	}
}

// mutex is the subject of one kind of Mutex, which may be adopted.
func mutex(of func(*engine.Engine) *engine.Mutex) func(*world) *subject {
	return func(w *world) *subject {
		s := w.locker("Mutex", 1, of(w.ours[0]), func(e *engine.Engine) []*engine.Mutex { return []*engine.Mutex{of(e)} })
		if k := of(w.ours[0]).Kind(); k != engine.KindRead && k != engine.KindWrite {
			var theirs *engine.Hold // whose place is taken
			s.calls["Mutex.Adopt"] = call{try: true, alone: func() {
				theirs = w.held(of(w.theirs[0]).Lock(context.Background()))
			}, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
				g, err := holdOf(of(w.ours[0]).Adopt(ctx, theirs.TenureID(), o...))
				if err != nil { // it may still be there
					theirs.UnlockAsync()
				}
				return g, err
			}}
		}
		return s
	}
}

// subjects are all kinds.
var subjects = map[string]func(*world) *subject{
	"mutex":  mutex(func(e *engine.Engine) *engine.Mutex { return e.Mutex("stock:7") }),
	"fenced": mutex(func(e *engine.Engine) *engine.Mutex { return e.FencedMutex("stock:7") }),
	"spin":   mutex(func(e *engine.Engine) *engine.Mutex { return e.SpinMutex("stock:7") }),
	"simple": mutex(func(e *engine.Engine) *engine.Mutex { return e.SimpleMutex("stock:7") }),
	"fair":   mutex(func(e *engine.Engine) *engine.Mutex { return e.FairMutex("stock:7") }),
	"read":   mutex(func(e *engine.Engine) *engine.Mutex { return e.RWMutex("stock:7").Reader() }),
	"write":  mutex(func(e *engine.Engine) *engine.Mutex { return e.RWMutex("stock:7").Writer() }),
	"multi": func(w *world) *subject {
		all, err := w.ours[0].All("stock:7", "stock:8")
		if err != nil {
			w.Fatal(err)
		}
		return w.locker("MultiLock", 2, all, func(e *engine.Engine) []*engine.Mutex { return []*engine.Mutex{e.Mutex("stock:7"), e.Mutex("stock:8")} })
	},
	"quorum": func(w *world) *subject {
		q, err := engine.Quorum("stock:7", w.ours...)
		if err != nil {
			w.Fatal(err)
		}
		return w.locker("QuorumLock", len(w.ours), q, func(e *engine.Engine) []*engine.Mutex { return []*engine.Mutex{e.Mutex("stock:7")} })
	},
	"permits": func(w *world) *subject {
		ours, theirs := w.ours[0].PermitSemaphore("slots"), w.theirs[0].PermitSemaphore("slots")
		w.set(ours.TrySetPermits(context.Background(), 2))
		return &subject{
			calls: map[string]call{
				"PermitSemaphore.Acquire": {make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return holdOf(ours.Acquire(ctx, 2, o...))
				}},
				"PermitSemaphore.TryAcquire": {try: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return holdOf(ours.TryAcquire(ctx, 2, o...))
				}},
				"PermitSemaphore.AcquireAsync": {async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return holdOf(answer(ours.AcquireAsync(ctx, 2, o...)))
				}},
				"PermitSemaphore.TryAcquireAsync": {try: true, async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return holdOf(answer(ours.TryAcquireAsync(ctx, 2, o...)))
				}},
			},
			whole: 2, words: "too few permits are free, the next lease ends in",
			taken: func() int { return int(w.number(theirs.Acquired)) },
			occupy: func() func() {
				h := w.held(theirs.Acquire(context.Background(), 2))
				return func() { h.Unlock(context.Background()) }
			},
			keeps: func(string) bool { return true },
		}
	},
	"limit": func(w *world) *subject {
		of := func(e *engine.Engine) engine.Locker { return e.Limit("slots", 2).Of(2) }
		return &subject{
			calls: w.lockerCalls("Limit", of(w.ours[0])), whole: 2, keeps: func(string) bool { return true },
			words: "too few permits are free, the next lease ends in",
			taken: func() int { return int(w.number(w.theirs[0].PermitSemaphore("slots").Acquired)) },
			occupy: func() func() {
				h := w.held(of(w.theirs[0]).Lock(context.Background()))
				return func() { h.Unlock(context.Background()) }
			},
		}
	},
	"semaphore": func(w *world) *subject {
		ours, theirs := w.ours[0].Semaphore("slots"), w.theirs[0].Semaphore("slots")
		w.set(ours.TrySetPermits(context.Background(), 2))
		given := func(err error) (gift, error) {
			return gift{func() error { return nil }, func() error { return ours.Release(context.Background(), 2) }}, err
		}
		later := func(_ struct{}, err error) (gift, error) { return given(err) }
		return &subject{
			calls: map[string]call{
				"Semaphore.Acquire": {make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return given(ours.Acquire(ctx, 2, o...))
				}},
				"Semaphore.TryAcquire": {try: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return given(ours.TryAcquire(ctx, 2, o...))
				}},
				"Semaphore.AcquireAsync": {async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return later(answer(ours.AcquireAsync(ctx, 2, o...)))
				}},
				"Semaphore.TryAcquireAsync": {try: true, async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					return later(answer(ours.TryAcquireAsync(ctx, 2, o...)))
				}},
			},
			whole: 2, words: "too few permits are free",
			taken: func() int { return 2 - int(w.number(theirs.Available)) },
			occupy: func() func() {
				if err := theirs.Acquire(context.Background(), 2); err != nil {
					w.Fatalf("Acquire by others: %v", err)
				}
				return func() { theirs.Release(context.Background(), 2) }
			},
			keeps: func(key string) bool { return key == "slots" },
		}
	},
	"latch": func(w *world) *subject {
		ours, theirs := w.ours[0].CountDownLatch("start"), w.theirs[0].CountDownLatch("start")
		nothing := gift{func() error { return nil }, func() error { return nil }}
		return &subject{
			calls: map[string]call{
				"CountDownLatch.Wait": {open: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) { return nothing, ours.Wait(ctx, o...) }},
				"CountDownLatch.WaitAsync": {open: true, async: true, make: func(ctx context.Context, o ...engine.LockOption) (gift, error) {
					_, err := answer(ours.WaitAsync(ctx, o...))
					return nothing, err
				}},
			},
			words: "it is not open",
			taken: func() int { return int(w.number(theirs.Count)) },
			occupy: func() func() {
				w.set(theirs.TrySetCount(context.Background(), 1))
				return func() { theirs.CountDown(context.Background()) }
			},
			keeps: func(string) bool { return false },
		}
	},
}

// unheard is a context that ends without a word: its Done is not closed before the test is over, as that of a deadline whose timer is
// late.
type unheard struct {
	context.Context
	done  chan struct{}
	ended atomic.Bool
}

func (u *unheard) Done() <-chan struct{} { return u.done }

func (u *unheard) Err() error {
	if u.ended.Load() {
		return context.Canceled
	}
	return nil
}

// slow is how long commands take where something is to happen while one is on its way.
const slow = 100 * time.Millisecond

// silence is longer than anybody waits for an answer.
const silence = 10 * time.Second

// slowDown makes every command take so long, at the last of several servers a little more: a QuorumLock does not wait for that one.
func (w *world) slowDown(d time.Duration) {
	for i, s := range w.servers {
		s.SetLatency(d + time.Duration(i)*d/10)
	}
}

// bound is a way to bound a call. It makes the call and judges the answer.
type bound func(w *world, s *subject, c call)

// ofWaits is a bound for calls that wait alone.
func ofWaits(b bound) bound {
	return func(w *world, s *subject, c call) {
		if !c.try {
			b(w, s, c)
		}
	}
}

var bounds = map[string]bound{
	"nothing": func(w *world, s *subject, c call) {
		g, err := c.make(context.Background())
		w.granted(s, g, err, func() {})
	},
	"a value": func(w *world, s *subject, c call) {
		type key struct{}
		g, err := c.make(context.WithValue(context.Background(), key{}, 1))
		w.granted(s, g, err, func() {})
	},
	"a deadline that comes afterwards": func(w *world, s *subject, c call) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		g, err := c.make(ctx)
		w.granted(s, g, err, func() { <-ctx.Done() })
	},
	"a deadline that comes first": func(w *world, s *subject, c call) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		w.refused(s, c, ctx, context.DeadlineExceeded, time.Second)
	},
	"a context that is cancelled at once when the call has returned": func(w *world, s *subject, c call) {
		w.slowDown(time.Millisecond)
		ctx, cancel := context.WithCancel(context.Background())
		g, err := c.make(ctx)
		w.granted(s, g, err, cancel)
	},
	"a context that is cancelled while it waits": func(w *world, s *subject, c call) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(300*time.Millisecond, cancel)
		w.refused(s, c, ctx, context.Canceled, 300*time.Millisecond)
	},
	"a context that is cancelled while the command is on its way": func(w *world, s *subject, c call) {
		ctx, cancel := context.WithCancel(context.Background())
		w.slowDown(slow)
		time.AfterFunc(slow/2, cancel)
		began := time.Now()
		_, err := c.make(ctx)
		w.failed(s, err, context.Canceled, began, slow/2)
	},
	"a context that has ended": func(w *world, s *subject, c call) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		before := w.attempts()
		began := time.Now()
		_, err := c.make(ctx)
		w.failed(s, err, context.Canceled, began, 0)
		if n := w.attempts() - before; n != 0 {
			w.Errorf("Redis was asked %d times", n)
		}
	},
	"a context that has ended when the grant comes": func(w *world, s *subject, c call) {
		ctx := &unheard{Context: context.Background(), done: make(chan struct{})}
		defer close(ctx.done)
		w.slowDown(slow)
		time.AfterFunc(slow/2, func() { ctx.ended.Store(true) })
		began := time.Now()
		g, err := c.make(ctx)
		if c.async || c.open {
			w.granted(s, g, err, func() {})
			return
		}
		w.failed(s, err, context.Canceled, began, time.Since(began)) // several commands, one after the other, take longer
	},
	"a wait that is longer": func(w *world, s *subject, c call) {
		w.slowDown(time.Millisecond)
		g, err := c.make(context.Background(), engine.WithWait(time.Second))
		if c.try {
			w.failed(s, err, engine.ErrInvalid, time.Now(), 0)
			return
		}
		w.granted(s, g, err, func() {})
	},
	"a wait that is over first": ofWaits(func(w *world, s *subject, c call) {
		w.refused(s, c, context.Background(), engine.ErrWaitTimeout, time.Second, engine.WithWait(time.Second))
	}),
	"a wait that is over first, while Redis is out of reach": ofWaits(func(w *world, s *subject, c call) {
		w.setDown(true)
		began := time.Now()
		_, err := c.make(context.Background(), engine.WithWait(time.Second))
		if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrHeld) {
			w.Errorf("the error is %v, want ErrWaitTimeout and ErrUnavailable", err)
		}
		w.took(began, time.Second)
		w.setDown(false)
		time.Sleep(15 * time.Second) // sleeps: in a bubble: what was asked for goes back
		w.free(s)
	}),
	"nothing, while Redis does not answer": func(w *world, s *subject, c call) {
		if !c.try {
			return
		}
		w.slowDown(silence)
		began := time.Now()
		if _, err := c.make(context.Background()); !errors.Is(err, engine.ErrUncertain) {
			w.Errorf("the error is %v, want ErrUncertain", err)
		}
		if took := time.Since(began); took < time.Second || took > 1200*time.Millisecond {
			w.Errorf("it took %v, want AnswerTimeout, and a tenth of it for what a call of several gives back", took)
		}
		w.slowDown(0)
		time.Sleep(3 * silence) // sleeps: in a bubble: what was on its way arrives, and goes back
		w.free(s)
	},
	"failing fast, while Redis is there": func(w *world, s *subject, c call) {
		g, err := c.make(context.Background(), engine.WithFailFast())
		w.granted(s, g, err, func() {})
	},
	"failing fast, while Redis is out of reach": func(w *world, s *subject, c call) {
		w.setDown(true)
		w.outOfReach(s, c, 0)
	},
	"failing fast, when what others have goes out of reach": ofWaits(func(w *world, s *subject, c call) {
		vacate := s.occupy()
		time.AfterFunc(time.Second, func() { w.setDown(true) })
		time.AfterFunc(10*time.Second, func() { w.setDown(false); vacate() }) // less than a lease: a call that waits on would be granted
		w.outOfReach(s, c, time.Second)
	}),
	"failing fast, when the answer is lost": ofWaits(func(w *world, s *subject, c call) {
		w.slowDown(slow)
		time.AfterFunc(slow/2, func() { w.setDown(true) })
		w.outOfReach(s, c, slow/2)
	}),
	"a queue of one": ofWaits(func(w *world, s *subject, c call) {
		vacate := s.occupy()
		ctx, cancel := context.WithCancel(context.Background())
		waiting, first := make(chan struct{}), make(chan error)
		go func() {
			close(waiting)
			_, err := c.make(ctx, engine.WithQueue(1))
			first <- err
		}()
		<-waiting
		synctest.Wait()
		began := time.Now()
		if _, err := c.make(context.Background(), engine.WithQueue(1)); !errors.Is(err, engine.ErrOverloaded) {
			w.Errorf("the error is %v, want ErrOverloaded", err)
		}
		w.took(began, 0)
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			w.Errorf("the first of the queue: %v", err)
		}
		vacate()
		w.free(s)
	}),
}

// setDown makes the server unreachable, of several all but the first, or reachable again.
func (w *world) setDown(down bool) {
	for _, s := range w.servers[min(len(w.servers)-1, 1):] {
		s.SetDown(down)
	}
	time.Sleep(time.Second / 2) // sleeps: in a bubble: the engines find out
	synctest.Wait()
}

// outOfReach judges a call that is to fail soon after that time, because Redis has gone.
func (w *world) outOfReach(s *subject, c call, after time.Duration) {
	w.Helper()
	began := time.Now()
	_, err := c.make(context.Background(), engine.WithFailFast())
	if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrHeld) || errors.Is(err, context.Canceled) {
		w.Errorf("the error is %v, want ErrUnavailable", err)
	}
	w.took(began, after)
	w.slowDown(0)
	time.Sleep(15 * time.Second) // sleeps: in a bubble: the outage ends, and what was asked for goes back
	w.setDown(false)
	time.Sleep(15 * time.Second) // sleeps: as above
	w.free(s)
}

func (w *world) attempts() (n int64) {
	for _, e := range w.ours {
		n += e.Stats().Attempts
	}
	return n
}

// granted judges a call that is to succeed; then ends what bounded it.
func (w *world) granted(s *subject, g gift, err error, then func()) {
	w.Helper()
	if err != nil {
		w.Fatalf("the call failed: %v", err)
	}
	then()
	w.slowDown(0)
	for range 2 { // leases
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if err := g.err(); err != nil {
			w.Fatalf("later it has ended: %v", err)
		}
		if n := s.taken(); n != s.whole {
			w.Fatalf("Redis has %d owners or permits, want %d", n, s.whole)
		}
	}
	if err := g.free(); err != nil {
		w.Errorf("to give it back failed: %v", err)
	}
	w.free(s)
}

// refused makes a call for what is occupied, which is to fail in that time: at once if it does not wait.
func (w *world) refused(s *subject, c call, ctx context.Context, want error, after time.Duration, opts ...engine.LockOption) {
	w.Helper()
	if c.alone != nil {
		_, err := c.make(context.Background(), engine.WithWait(-1)) // gives back what it was to take
		w.failed(s, err, engine.ErrInvalid, time.Now(), 0)
		return
	}
	vacate := s.occupy()
	synctest.Wait()
	if c.try {
		want, after = engine.ErrHeld, 0
	}
	began := time.Now()
	_, err := c.make(ctx, opts...)
	if !errors.Is(err, want) || !errors.Is(err, engine.ErrHeld) {
		w.Errorf("the error is %v, want %v and ErrHeld", err, want)
	}
	var held *engine.HeldError
	if !errors.As(err, &held) || (held.TTL >= 0) != strings.Contains(s.words, "ends in") || !c.try && !strings.Contains(err.Error(), s.words) {
		w.Errorf("the error is %v, want a HeldError that says %q", err, s.words)
	}
	w.took(began, after)
	vacate()
	w.free(s)
}

// failed judges a call for what is free.
func (w *world) failed(s *subject, err, want error, began time.Time, after time.Duration) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("the error is %v, want %v", err, want)
	}
	w.took(began, after)
	w.slowDown(0)
	time.Sleep(2 * slow) // sleeps: in a bubble: what was on its way arrives, and goes back
	w.free(s)
}

func (w *world) took(began time.Time, want time.Duration) {
	w.Helper()
	if d := time.Since(began); d < want || d > want+20*time.Millisecond {
		w.Errorf("it took %v, want %v", d, want)
	}
}

// free judges that nobody has anything, that others get it at once, and that in the end nothing is left: nobody waits, nothing stands
// in Redis, nobody listens.
func (w *world) free(s *subject) {
	w.Helper()
	synctest.Wait()
	if n := s.taken(); n != 0 {
		w.Fatalf("Redis has %d owners or permits, want none", n)
	}
	began := time.Now()
	vacate := s.occupy()
	w.took(began, 0)
	vacate()
	time.Sleep(70 * time.Second) // receipts last a minute
	synctest.Wait()
	for i, server := range w.servers {
		if left := slices.DeleteFunc(server.Keys(), s.keeps); len(left) > 0 {
			w.Errorf("keys are left: %q", left)
		}
		if left := server.Subscriptions(); len(left) > 0 {
			w.Errorf("somebody listens to %q", left)
		}
		if stats := w.ours[i].Stats(); stats.Waiting != 0 || stats.Held != 0 {
			w.Errorf("waiting %d, held %d", stats.Waiting, stats.Held)
		}
	}
}

// newWorld is a world of so many servers.
func newWorld(t *testing.T, servers int) *world {
	w := &world{T: t}
	for range servers {
		e, s := virtual.New(t, engine.Options{})
		other, err := s.Open(t.Context(), engine.Options{})
		testkit.Must(t, err)
		t.Cleanup(func() { other.Close() })
		w.servers, w.ours, w.theirs = append(w.servers, s), append(w.ours, e), append(w.theirs, other)
	}
	return w
}

// newSubject is a subject in a world of its own.
func newSubject(t *testing.T, kind string) (*world, *subject) {
	servers := 1
	if kind == "quorum" {
		servers = 3
	}
	w := newWorld(t, servers)
	return w, subjects[kind](w)
}

// some lets one of so many worlds be lived, with -short one of four at most. Under the race detector, where a world costs six times as much,
// it is one of forty: make plain has more.
func some(every int) func() bool {
	n := 0
	if testkit.RaceDetector {
		every = 40
	} else if testing.Short() {
		every = 4
	}
	return func() bool { n++; return n%every == 0 }
}

// invariant: answered-once
func TestEveryCallUnderEveryBound(t *testing.T) {
	t.Parallel()
	wanted := some(2) // each bound with a call of each kind that waits, and with each call, of one kind or another
	for _, kind := range slices.Sorted(maps.Keys(subjects)) {
		var calls []string
		synctest.Test(t, func(t *testing.T) {
			_, s := newSubject(t, kind)
			calls = slices.Sorted(maps.Keys(s.calls))
		})
		for _, name := range calls {
			wanted() // their number is even: the next call has the others
			for _, what := range slices.Sorted(maps.Keys(bounds)) {
				if !wanted() {
					continue
				}
				t.Run(kind+"/"+name+"/"+what, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						w, s := newSubject(t, kind)
						c := s.calls[name]
						if c.alone != nil {
							c.alone()
						}
						bounds[what](w, s, c)
					})
				})
			}
		}
	}
}

// changes are calls that are sent even if their context has ended, because they give something back or must not be lost: what they are
// to do, and whether it was done.
var changes = map[string]func(w *world) (do func(context.Context) error, done func() bool){
	"Hold.Unlock": func(w *world) (func(context.Context) error, func() bool) {
		return w.lock().Unlock, func() bool { return !w.state().Locked }
	},
	"Hold.Detach": func(w *world) (func(context.Context) error, func() bool) {
		h := w.lock()
		do := func(ctx context.Context) error { _, err := h.Detach(ctx, time.Hour); return err }
		return do, func() bool { return w.state().OwnerID.Detached }
	},
	"Hold.Extend": func(w *world) (func(context.Context) error, func() bool) {
		h := w.lock(engine.WithLease(time.Minute))
		return func(ctx context.Context) error { return h.Extend(ctx, time.Hour) }, func() bool { return w.state().TTL > 50*time.Minute }
	},
	"Semaphore.Release": func(w *world) (func(context.Context) error, func() bool) {
		s := w.ours[0].Semaphore("slots")
		return func(ctx context.Context) error { return s.Release(ctx, 2) }, func() bool { return w.number(s.Available) == 2 }
	},
	"Semaphore.ReleaseAsync": func(w *world) (func(context.Context) error, func() bool) {
		s := w.ours[0].Semaphore("slots")
		do := func(ctx context.Context) error { _, err := answer(s.ReleaseAsync(ctx, 2)); return err }
		return do, func() bool { return w.number(s.Available) == 2 }
	},
	"PermitSemaphore.Release": func(w *world) (func(context.Context) error, func() bool) {
		s := w.ours[0].PermitSemaphore("slots")
		w.set(s.TrySetPermits(context.Background(), 1))
		h := w.held(w.theirs[0].PermitSemaphore("slots").Acquire(context.Background(), 1))
		return func(ctx context.Context) error { return s.Release(ctx, h.PermitIDs()...) }, func() bool { return w.number(s.Available) == 1 }
	},
	"CountDownLatch.CountDown": func(w *world) (func(context.Context) error, func() bool) {
		l := w.latch()
		return l.CountDown, func() bool { return w.number(l.Count) == 0 }
	},
}

// questions are calls that ask nothing if their context has ended.
var questions = map[string]func(w *world) func(context.Context) error{
	"Mutex.Inspect":     func(w *world) func(context.Context) error { return told(w.lockedBy().Inspect) },
	"Mutex.ForceUnlock": func(w *world) func(context.Context) error { return told(w.lockedBy().ForceUnlock) },
	"Mutex.ForceUnlockOwners": func(w *world) func(context.Context) error {
		m := w.lockedBy()
		owner := w.state().Owner
		return func(ctx context.Context) error { _, err := m.ForceUnlockOwners(ctx, owner); return err }
	},
	"Engine.Holder": func(w *world) func(context.Context) error {
		return toldOf(w.ours[0].Holder, w.ours[0].ID())
	},
	"Open": func(w *world) func(context.Context) error {
		return func(ctx context.Context) error {
			e, err := w.servers[0].Open(ctx, engine.Options{})
			if err == nil {
				e.Close()
			}
			return err
		}
	},
	"CountDownLatch.Count":  func(w *world) func(context.Context) error { return told(w.latch().Count) },
	"CountDownLatch.Delete": func(w *world) func(context.Context) error { return told(w.latch().Delete) },
	"CountDownLatch.TrySetCount": func(w *world) func(context.Context) error {
		return toldOf(w.ours[0].CountDownLatch("start").TrySetCount, 1)
	},
	"Semaphore.Available": func(w *world) func(context.Context) error { return told(w.ours[0].Semaphore("slots").Available) },
	"Semaphore.Drain":     func(w *world) func(context.Context) error { return told(w.ours[0].Semaphore("slots").Drain) },
	"Semaphore.AddPermits": func(w *world) func(context.Context) error {
		return func(ctx context.Context) error { return w.ours[0].Semaphore("slots").AddPermits(ctx, 1) }
	},
	"Semaphore.TrySetPermits": func(w *world) func(context.Context) error {
		return toldOf(w.ours[0].Semaphore("slots").TrySetPermits, 1)
	},
	"Semaphore.TrySetPermitsFor": func(w *world) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := w.ours[0].Semaphore("slots").TrySetPermitsFor(ctx, 1, time.Minute)
			return err
		}
	},
	"Semaphore.Delete":       func(w *world) func(context.Context) error { return told(w.ours[0].Semaphore("slots").Delete) },
	"PermitSemaphore.Delete": func(w *world) func(context.Context) error { return told(w.ours[0].PermitSemaphore("slots").Delete) },
	"PermitSemaphore.SetPermits": func(w *world) func(context.Context) error {
		return func(ctx context.Context) error { return w.ours[0].PermitSemaphore("slots").SetPermits(ctx, 1) }
	},
	"PermitSemaphore.Available": func(w *world) func(context.Context) error { return told(w.ours[0].PermitSemaphore("slots").Available) },
	"PermitSemaphore.Acquired":  func(w *world) func(context.Context) error { return told(w.ours[0].PermitSemaphore("slots").Acquired) },
	"PermitSemaphore.AddPermits": func(w *world) func(context.Context) error {
		return func(ctx context.Context) error { return w.ours[0].PermitSemaphore("slots").AddPermits(ctx, 1) }
	},
	"PermitSemaphore.TrySetPermits": func(w *world) func(context.Context) error {
		return toldOf(w.ours[0].PermitSemaphore("slots").TrySetPermits, 1)
	},
}

// waitsForNothing are those whose context bounds no call to Redis.
var waitsForNothing = []string{
	"Hold.Context",    // it returns at once
	"Engine.Shutdown", // waits for holds; the engine is closed in any case
}

func told[T any](ask func(context.Context) (T, error)) func(context.Context) error {
	return func(ctx context.Context) error { _, err := ask(ctx); return err }
}

func toldOf[A, T any](ask func(context.Context, A) (T, error), of A) func(context.Context) error {
	return told(func(ctx context.Context) (T, error) { return ask(ctx, of) })
}

func (w *world) number(ask func(context.Context) (int64, error)) int64 {
	n, err := ask(context.Background())
	if err != nil {
		w.Errorf("a question: %v", err)
	}
	return n
}

func (w *world) lock(opts ...engine.LockOption) *engine.Hold {
	return w.held(w.ours[0].Mutex("stock:7").Lock(context.Background(), opts...))
}

func (w *world) lockedBy() *engine.Mutex {
	w.lock()
	return w.ours[0].Mutex("stock:7")
}

func (w *world) state() engine.State { return w.stateOf(w.theirs[0].Mutex("stock:7")) }

func (w *world) stateOf(m *engine.Mutex) engine.State {
	s, err := m.Inspect(context.Background())
	if err != nil {
		w.Errorf("Inspect: %v", err)
	}
	return s
}

func (w *world) latch() *engine.CountDownLatch {
	l := w.ours[0].CountDownLatch("start")
	w.set(l.TrySetCount(context.Background(), 1))
	return l
}

// A change is made whatever becomes of its context, and a question is not asked under one that has ended. Either returns when its
// context ends.
func TestEveryOtherCallUnderEveryBound(t *testing.T) {
	t.Parallel()
	const unanswered = "nothing, while Redis does not answer"
	waitsOn := []string{"Semaphore.ReleaseAsync", "Open"} // a future, and what has time-outs of its own
	bounded := map[string]struct {
		ctx  func() (context.Context, context.CancelFunc)
		want error
		took time.Duration
	}{
		"nothing":    {func() (context.Context, context.CancelFunc) { return context.Background(), func() {} }, nil, slow},
		unanswered:   {func() (context.Context, context.CancelFunc) { return context.Background(), func() {} }, engine.ErrUncertain, time.Second},
		"a deadline": {func() (context.Context, context.CancelFunc) { return context.WithTimeout(context.Background(), slow/2) }, context.DeadlineExceeded, slow / 2},
		"a context that is cancelled": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(slow/2, cancel)
			return ctx, cancel
		}, context.Canceled, slow / 2},
		"a context that has ended": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, context.Canceled, 0},
	}
	judge := func(w *world, what string, do func(context.Context) error) {
		w.slowDown(slow)
		if what == unanswered {
			w.slowDown(silence)
		}
		began := time.Now()
		b := bounded[what]
		ctx, cancel := b.ctx()
		err := do(ctx)
		cancel()
		if !errors.Is(err, b.want) {
			w.Errorf("the error is %v, want %v", err, b.want)
		}
		if b.want != nil { // else several commands may have taken their time
			w.took(began, b.took)
		}
		w.slowDown(0)
	}
	wanted := some(1)
	run := func(name string, test func(w *world)) {
		if wanted() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(newWorld(t, 1)) })
			})
		}
	}
	for _, what := range slices.Sorted(maps.Keys(bounded)) {
		for _, name := range slices.Sorted(maps.Keys(changes)) {
			if what == unanswered && slices.Contains(waitsOn, name) {
				continue
			}
			run(name+"/"+what, func(w *world) {
				do, done := changes[name](w)
				judge(w, what, do)
				time.Sleep(3 * silence)
				if !done() {
					w.Error("it was not done")
				}
			})
		}
		for _, name := range slices.Sorted(maps.Keys(questions)) {
			if what == unanswered && slices.Contains(waitsOn, name) {
				continue
			}
			run(name+"/"+what, func(w *world) {
				do := questions[name](w)
				before := w.ours[0].Stats().Batches
				judge(w, what, do)
				time.Sleep(time.Second) // sleeps: in a bubble: what was asked for is sent by the loop
				if n := w.ours[0].Stats().Batches - before; what == "a context that has ended" && n > 0 {
					w.Errorf("%d batches were sent", n)
				}
			})
		}
	}
}

// A call that is not in the tables above has no row: what takes a context is to say what becomes of it.
func TestEveryCallThatTakesAContextHasARow(t *testing.T) {
	rows := slices.Concat(slices.Collect(maps.Keys(changes)), slices.Collect(maps.Keys(questions)), waitsForNothing)
	for kind := range subjects {
		synctest.Test(t, func(t *testing.T) {
			_, s := newSubject(t, kind)
			rows = slices.AppendSeq(rows, maps.Keys(s.calls))
		})
	}
	names := takingContexts(t, ".")
	for _, name := range names {
		if !slices.Contains(rows, name) {
			t.Errorf("%s takes a context and has no row", name)
		}
	}
	for _, name := range rows {
		if !slices.Contains(names, name) {
			t.Errorf("%s has a row and takes no context", name)
		}
	}
}

// takingContexts are the exported functions and methods of the package in dir whose first parameter is a context.
func takingContexts(t *testing.T, dir string) (names []string) {
	parsed := parse(t, dir)
	types := embedders(parsed)
	for _, file := range parsed {
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || !f.Name.IsExported() || len(f.Type.Params.List) == 0 {
				continue
			}
			if first, is := f.Type.Params.List[0].Type.(*ast.SelectorExpr); !is || first.Sel.Name != "Context" {
				continue
			}
			if f.Recv == nil {
				names = append(names, f.Name.Name)
				continue
			}
			receiver := f.Recv.List[0].Type
			if pointer, is := receiver.(*ast.StarExpr); is {
				receiver = pointer.X
			}
			if of, is := receiver.(*ast.Ident); is {
				for _, name := range append(types[of.Name], of.Name) {
					if ast.IsExported(name) {
						names = append(names, name+"."+f.Name.Name)
					}
				}
			}
		}
	}
	return names
}

func parse(t *testing.T, dir string) (parsed []*ast.File) {
	files, err := os.ReadDir(dir)
	testkit.Must(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), dir+"/"+file.Name(), nil, 0)
		testkit.Must(t, err)
		parsed = append(parsed, f)
	}
	return parsed
}

// embedders are the types that embed a type, and so have its methods.
func embedders(parsed []*ast.File) map[string][]string {
	types := map[string][]string{}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			if of, is := spec.Type.(*ast.StructType); is {
				for _, field := range of.Fields.List {
					if embedded, is := field.Type.(*ast.Ident); is && field.Names == nil {
						types[embedded.Name] = append(types[embedded.Name], spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return types
}
