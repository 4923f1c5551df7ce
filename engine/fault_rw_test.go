package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// contested is the name that they compete for.
const contested = "stock:7"

// rwContest is readers and writers of one name, who check that a writer is alone.
type rwContest struct {
	T       *testing.T
	Engines []*engine.Engine
	Cancel  bool // a third of the calls is cancelled at some moment
	readers atomic.Int32
	writers atomic.Int32
	Grants  atomic.Int64
}

// run has callers compete until until says so.
func (c *rwContest) Run(callers int, until func() bool) {
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for !until() && !c.T.Failed() {
				rw := c.Engines[i%len(c.Engines)].RWMutex(contested)
				switch rand.IntN(5) {
				case 0:
					c.write(rw)
				case 1:
					c.lower(rw)
				default:
					c.read(rw)
				}
			}
		})
	}
	wg.Wait()
}

// take locks, or gives up when it is cancelled.
func (c *rwContest) take(m *engine.Mutex, opts ...engine.LockOption) *engine.Hold {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if c.Cancel && rand.IntN(3) == 0 {
		ctx, stop = context.WithTimeout(ctx, time.Duration(rand.IntN(3000))*time.Microsecond)
		defer stop()
	}
	h, err := m.Lock(ctx, opts...)
	if err != nil {
		if !c.Cancel || !errors.Is(err, context.DeadlineExceeded) {
			c.T.Errorf("lock: %v", err)
		}
		return nil
	}
	c.Grants.Add(1)
	return h
}

func (c *rwContest) free(h *engine.Hold) {
	if err := patiently(h.Unlock); err != nil {
		c.T.Errorf("unlock: %v", err)
	}
}

func (c *rwContest) read(rw *engine.RWMutex) {
	h := c.take(rw.Reader())
	if h == nil {
		return
	}
	c.readers.Add(1)
	time.Sleep(rand.N(200 * time.Microsecond))
	if n := c.writers.Load(); n != 0 {
		c.T.Errorf("%d writers beside a reader", n)
	}
	c.readers.Add(-1)
	c.free(h)
}

func (c *rwContest) write(rw *engine.RWMutex) {
	h := c.take(rw.Writer())
	if h == nil {
		return
	}
	c.alone()
	c.free(h)
}

func (c *rwContest) alone() {
	if w, r := c.writers.Add(1), c.readers.Load(); w != 1 || r != 0 {
		c.T.Errorf("%d writers and %d readers at once", w, r)
	}
	time.Sleep(rand.N(200 * time.Microsecond))
	c.writers.Add(-1)
}

// lower writes, reads, and goes on reading when it has ceased to write.
func (c *rwContest) lower(rw *engine.RWMutex) {
	me := engine.WithOwner(engine.NewOwner())
	write := c.take(rw.Writer(), me)
	if write == nil {
		return
	}
	c.alone()
	read := c.take(rw.Reader(), me)
	c.free(write)
	if read == nil {
		return
	}
	c.readers.Add(1)
	time.Sleep(rand.N(200 * time.Microsecond))
	if n := c.writers.Load(); n != 0 {
		c.T.Errorf("%d writers beside a reader that wrote before", n)
	}
	c.readers.Add(-1)
	c.free(read)
}

// A lost answer makes nobody a reader or a writer twice, nor strands the lock.
func TestFaultRWSwallowedAnswerHasOneEffect(t *testing.T) {
	t.Parallel()
	for _, s := range []scripts.Script{scripts.AcquireRead, scripts.AcquireWrite, scripts.ReleaseRead, scripts.ReleaseWrite, scripts.Downgrade, scripts.RenewRead} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel() // mostly it waits
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			short := func(o *engine.Options) { o.HandoffTime = time.Millisecond } // the more is asked of Redis
			e, other := connect(t, proxy.Addr(), short), connect(t, server.Addr(), short)
			c := &rwContest{T: t, Engines: []*engine.Engine{e, e, e, other}}
			want := int64(times(t, 1_000, 40))
			proxy.SwallowReply(redistest.Swallow{Match: runs(s), Nth: 3, Times: int(want)})
			began := time.Now()
			c.Run(16, func() bool {
				return proxy.Stats().Swallowed >= want || time.Since(began) > time.Duration(want)*time.Second
			})
			if got := proxy.Stats().Swallowed; got < want {
				t.Errorf("only %d of %d answers were swallowed in %v", got, want, time.Since(began))
			}
			t.Logf("%d answers swallowed under %d grants in %v", proxy.Stats().Swallowed, c.Grants.Load(), time.Since(began).Round(time.Millisecond))
			checkQuiet(t, server, e, 0)
		})
	}
}

// Calls that are cancelled while queued, in flight or just granted leave nothing.
func TestFaultRWCancelledCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Latency(redistest.Both, time.Millisecond, time.Millisecond)
	e, other := connect(t, proxy.Addr()), connect(t, server.Addr())
	c := &rwContest{T: t, Engines: []*engine.Engine{e, e, e, other}, Cancel: true}
	until := time.Now().Add(lasting(t, 2*time.Minute, 3*time.Second))
	c.Run(32, func() bool { return time.Now().After(until) })
	t.Logf("%d grants", c.Grants.Load())
	checkQuiet(t, server, e, 0)
}

// Whoever waits when the subscription breaks is not stranded, although nobody polls here.
func TestFaultRWKilledSubscriptionStrandsNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, other := connect(t, server.Addr(), onlyMessages), connect(t, server.Addr(), onlyMessages)
	c := &rwContest{T: t, Engines: []*engine.Engine{e, other}}
	until := time.Now().Add(lasting(t, time.Minute, 3*time.Second))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for time.Now().Before(until) {
			server.KillClients("pubsub")
			time.Sleep(20 * time.Millisecond)
		}
	}()
	c.Run(16, func() bool { return time.Now().After(until) })
	<-stopped
	t.Logf("%d grants", c.Grants.Load())
	checkQuiet(t, server, e, 0)
}
