package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// moment is when a call is cancelled.
type moment int

const (
	queued      moment = iota // another has the name
	inFlight                  // the name is free, and the acquire has not run
	justGranted               // the acquire has run, and its answer is on the way back
	moments
)

func (m moment) String() string { return [...]string{"queued", "in flight", "just granted"}[m] }

// cancelling makes calls and cancels them.
type cancelling struct {
	t         *testing.T
	ctx       context.Context // for all waits together
	e         *engine.Engine
	proxy     *redistest.Proxy
	direct    *testkit.Outsider // sees what stands in Redis before the engine does
	taken     []string          // names that others have, all the time
	cancelled [moments]atomic.Int64
	late      atomic.Int64 // calls whose grant was quicker than the cancelling
}

// callUnderWay is a call that has not been answered yet.
type callUnderWay struct {
	cancel func()
	answer func() (*engine.Hold, error)
}

// start calls in one of the four ways in which a call can be made and cancelled.
func (c *cancelling) start(way int, name string) callUnderWay {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience) // or TryLock gives up after a second
	m := c.e.Mutex(name)
	switch way % 4 {
	case 0:
		return blocking(cancel, func() (*engine.Hold, error) { return m.Lock(ctx) })
	case 1:
		return blocking(cancel, func() (*engine.Hold, error) { return m.TryLock(ctx) })
	case 2:
		f := m.LockAsync(ctx)
		return callUnderWay{cancel, func() (*engine.Hold, error) { return f.Wait(c.ctx) }}
	default:
		f := m.LockAsync(ctx)
		return callUnderWay{func() { f.Cancel() }, func() (*engine.Hold, error) { defer cancel(); return f.Wait(c.ctx) }}
	}
}

func blocking(cancel func(), lock func() (*engine.Hold, error)) callUnderWay {
	var h *engine.Hold
	var err error
	done := make(chan struct{})
	go func() { h, err = lock(); close(done) }()
	return callUnderWay{cancel, func() (*engine.Hold, error) { <-done; return h, err }}
}

// settle cancels a call and takes its answer, which must be there at once.
func (c *cancelling) settle(call callUnderWay, at moment) {
	call.cancel()
	h, err := call.answer()
	switch {
	case err == nil:
		c.late.Add(1)
		if err := testkit.Patiently(h.Unlock); err != nil {
			c.t.Errorf("unlock: %v", err)
		}
	case errors.Is(err, context.Canceled):
		c.cancelled[at].Add(1)
	default:
		c.t.Errorf("a call cancelled when %v: %v", at, err)
	}
}

// one makes a call and cancels it at the moment.
func (c *cancelling) one(n int, at moment) {
	name := fmt.Sprintf("order:%d", n)
	switch at {
	case queued:
		way := []int{0, 2, 3}[n/3%3] // TryLock does not queue
		call := c.start(way, c.taken[n%len(c.taken)])
		time.Sleep(rand.N(25 * time.Millisecond))
		c.settle(call, queued)
	case inFlight:
		call := c.start(n/3, name)
		time.Sleep(rand.N(4 * time.Millisecond)) // the way there takes 5
		if c.stands(name) {
			at = justGranted
		}
		c.settle(call, at)
	case justGranted:
		call := c.start(n/3, name)
		for deadline := time.Now().Add(testkit.Patience); !c.stands(name) && time.Now().Before(deadline); {
			time.Sleep(200 * time.Microsecond)
		}
		c.settle(call, at)
	}
}

// standStill has the network stand still at a moment of every call, until goOn: requests do not arrive, or answers.
func standStill(at moment, proxies ...*redistest.Proxy) (goOn func()) {
	for _, p := range proxies {
		if at == inFlight {
			p.HoldRequests(redistest.UntilReleased)
		} else {
			p.BlackHole(redistest.ServerToClient, true)
		}
	}
	return func() {
		for _, p := range proxies {
			p.HoldRequests(0)
			p.Release()
			p.BlackHole(redistest.Both, false)
		}
	}
}

// arrive waits until the first of so many calls has come to where the network stands still. Some others wait for its answer.
func arrive(at moment, proxy *redistest.Proxy, calls int, stands func(i int) bool) {
	there := func(int) bool { return proxy.Stats().WaitingToServer > 0 }
	if at == justGranted {
		there = stands
	}
	deadline := time.Now().Add(300 * time.Millisecond) // what is left of calls before may be on all connections
	for i := 0; !there(i%calls) && time.Now().Before(deadline); i++ {
		time.Sleep(500 * time.Microsecond)
	}
	time.Sleep(rand.N(4 * time.Millisecond))
}

// wave makes calls and cancels all at a moment at which the network stands still: no grant is quicker than the cancelling.
func wave[C any](tb testing.TB, at moment, proxies []*redistest.Proxy, calls int, start func(i int) C, stands func(i int) bool, settle func(C, moment)) {
	goOn := standStill(at, proxies...)
	var pending []C
	for i := range calls {
		pending = append(pending, start(i))
	}
	arrive(at, proxies[0], calls, stands)
	for i, call := range pending {
		if at == justGranted && !stands(i) {
			settle(call, inFlight)
		} else {
			settle(call, at)
		}
	}
	goOn()
	for i := range calls {
		redistest.Await(tb, fmt.Sprintf("the name of call %d to be free", i), func() bool { return !stands(i) })
	}
}

// wave cancels calls of all ways but TryLock: who asks once is told that the link has ended, if it has.
func (c *cancelling) wave(at moment, first int) {
	name := func(i int) string { return fmt.Sprintf("order:%d", first+i) }
	start := func(i int) callUnderWay { return c.start([]int{0, 2, 3}[i%3], name(i)) }
	wave(c.t, at, []*redistest.Proxy{c.proxy}, 64, start, func(i int) bool { return c.stands(name(i)) }, c.settle)
}

func (c *cancelling) stands(name string) bool {
	client := c.direct.Client
	n, err := client.Do(context.Background(), client.B().Exists().Key(name).Build()).AsInt64()
	if err != nil {
		c.t.Errorf("exists: %v", err)
	}
	return n == 1
}

func (c *cancelling) total() (n int64) {
	for i := range c.cancelled {
		n += c.cancelled[i].Load()
	}
	return n
}

func TestFaultCancelledCallsLeaveNothing(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Latency(redistest.Both, 5*time.Millisecond, 0)
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	c := &cancelling{t: t, ctx: ctx, proxy: proxy, e: testkit.Connect(t, proxy.Addr()), direct: testkit.NewOutsider(t, server.Addr())}
	var living []*engine.Hold
	for i := range 8 {
		ours, others := fmt.Sprintf("taken:ours:%d", i), fmt.Sprintf("taken:others:%d", i)
		living = append(living, testkit.MustLock(t, c.e.Mutex(ours)))
		c.direct.Take(others, time.Hour)
		c.taken = append(c.taken, ours, others)
	}
	want := int64(testkit.Times(t, 100_000, 1500))
	var next atomic.Int64
	var workers sync.WaitGroup
	over := testkit.Reached(want, c.total)
	for range 64 {
		workers.Go(func() {
			for !over() && !t.Failed() {
				n := int(next.Add(1))
				c.one(n, moment(n%int(moments)))
			}
		})
	}
	workers.Wait()
	t.Logf("by chance %d in flight, %d just granted", c.cancelled[inFlight].Load(), c.cancelled[justGranted].Load())
	for _, at := range []moment{inFlight, justGranted} { // on a slow machine chance hits few of them
		over := testkit.Reached(want/5, c.cancelled[at].Load)
		for first := true; (first || !over()) && !t.Failed(); first = false {
			c.wave(at, int(next.Add(64)))
		}
	}
	total := c.total()
	t.Logf("%d calls cancelled: %d queued, %d in flight, %d just granted; %d were too late", total,
		c.cancelled[queued].Load(), c.cancelled[inFlight].Load(), c.cancelled[justGranted].Load(), c.late.Load())
	if total < want {
		t.Errorf("only %d of %d calls were cancelled", total, want)
	}
	for at := range c.cancelled {
		if n := c.cancelled[at].Load(); n < want/5 {
			t.Errorf("%d of %d calls were cancelled when %v, want %d", n, total, moment(at), want/5)
		}
	}
	if stats := c.e.Stats(); stats.Held != int64(len(living)) {
		t.Errorf("held = %d, want %d", stats.Held, len(living))
	}
	for _, h := range living {
		testkit.MustUnlock(t, h)
	}
	var others []string
	for _, name := range c.taken {
		if c.direct.Free(name) {
			c.direct.Take(name, time.Hour)
			others = append(others, name)
		}
	}
	testkit.CheckQuiet(t, server, c.e, 0, others...)
}
