package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// cancelKinds makes calls of one kind and cancels them.
type cancelKinds struct {
	*stage
	cancelled [moments]atomic.Int64
	late      atomic.Int64 // calls whose grant was quicker than the cancelling
}

// start makes a call that is cancelled in one of three ways.
func (c *cancelKinds) start(way int, name string) under {
	ctx, cancel := context.WithCancel(context.Background())
	s := c.source(c.ours, name)
	stop := func() bool { cancel(); return true }
	switch way % 3 {
	case 0:
		var got taken
		var err error
		done := make(chan struct{})
		go func() { got, err = s.get(ctx); close(done) }()
		return under{stop, func(context.Context) (taken, error) { <-done; return got, err }}
	case 1:
		return under{stop, s.async(ctx).wait}
	default:
		call := s.async(ctx)
		return under{call.cancel, func(ctx context.Context) (taken, error) { defer cancel(); return call.wait(ctx) }}
	}
}

// settle cancels a call and takes its answer.
func (c *cancelKinds) settle(call under, at moment) {
	call.cancel()
	got, err := call.wait(context.Background())
	switch {
	case err == nil:
		c.late.Add(1)
		if err := testkit.Patiently(got.back); err != nil {
			c.Errorf("give back: %v", err)
		}
	case errors.Is(err, context.Canceled):
		c.cancelled[at].Add(1)
	default:
		c.Errorf("a call cancelled when %v: %v", at, err)
	}
}

// one makes a call for a name and cancels it at the moment.
func (c *cancelKinds) one(n int, at moment, name string) {
	call := c.start(n/3, name)
	switch at {
	case queued:
		time.Sleep(rand.N(25 * time.Millisecond))
	case inFlight:
		time.Sleep(rand.N(4 * time.Millisecond)) // the way there takes 5
		if c.stands(name) {
			at = justGranted
		}
	case justGranted:
		for deadline := time.Now().Add(testkit.Patience); !c.stands(name) && time.Now().Before(deadline); {
			time.Sleep(500 * time.Microsecond)
		}
	}
	c.settle(call, at)
}

func (c *cancelKinds) total() (n int64) {
	for i := range c.cancelled {
		n += c.cancelled[i].Load()
	}
	return n
}

// wave cancels calls of a kind, for names of their own.
func (c *cancelKinds) wave(at moment, first int) {
	const calls = 20
	name := func(i int) string { return fmt.Sprintf("wave:%d", first+i) }
	// Of several names as one, those to come are not asked for before the answer about the first.
	stands := func(i int) bool {
		return c.stands(name(i)) || !c.permits && c.servers[0].MustDo(append([]string{"EXISTS"}, c.keys(name(i))...)...).Int > 0
	}
	for i := range calls {
		c.stock(name(i))
	}
	wave(c, at, c.proxies, calls, func(i int) under { return c.start(i, name(i)) }, stands, c.settle)
}

// Whenever a call is cancelled, and in whichever way: no orphan is left, no permit is lost or made, and nobody
// stands in a queue who does not wait any more.
func TestFaultKindsCancelledCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	const workers, names = 32, 8 // of each worker, in turn: what a call leaves goes while the others are used
	onEveryKind(t, everything, func(s *stage) {
		c := &cancelKinds{stage: s}
		for _, p := range s.proxies {
			p.Latency(redistest.Both, 5*time.Millisecond, 0)
		}
		var occupied []taken
		for i := range 8 {
			name := fmt.Sprintf("occupied:%d", i)
			s.stock(name)
			occupied = append(occupied, s.block(s.T, [][]*engine.Engine{s.ours, s.theirs}[i%2], name))
		}
		all := []moment{queued, inFlight, justGranted}
		if s.room == 0 { // nobody ever has a latch
			all = []moment{queued}
		}
		want := int64(testkit.Times(s, 20_000, 200))
		over := testkit.Reached(want, c.total)
		var next atomic.Int64
		var wg sync.WaitGroup
		for w := range workers {
			for i := range names {
				s.stock(fmt.Sprintf("free:%d:%d", w, i))
			}
			wg.Go(func() {
				for turn := 0; !s.Failed() && !over(); turn++ {
					n := int(next.Add(1))
					at, name := all[n%len(all)], fmt.Sprintf("free:%d:%d", w, turn%names)
					if at == queued {
						name = fmt.Sprintf("occupied:%d", n%8)
					}
					c.one(n, at, name)
				}
			})
		}
		wg.Wait()
		for _, at := range all[1:] { // on a slow machine chance hits few of them
			over := testkit.Reached(want/10, c.cancelled[at].Load)
			for first := true; (first || !over()) && !s.Failed(); first = false {
				c.wave(at, int(next.Add(20)))
			}
		}
		s.Logf("%d calls cancelled: %d queued, %d in flight, %d just granted; %d were too late", c.total(),
			c.cancelled[queued].Load(), c.cancelled[inFlight].Load(), c.cancelled[justGranted].Load(), c.late.Load())
		for _, at := range all {
			if n := c.cancelled[at].Load(); n < want/10 {
				s.Errorf("%d calls were cancelled when %v, want %d", n, at, want/10)
			}
		}
		for _, got := range occupied {
			if err := got.back(testkit.Soon(s)); err != nil {
				s.Errorf("give back: %v", err)
			}
		}
		s.checkQuiet()
	})
}

// Whoever waits when his connection for messages is killed is not stranded, although nobody polls here: what was
// announced meanwhile is found out by asking again.
func TestFaultKindsKilledSubscriptionsStrandNobody(t *testing.T) {
	t.Parallel()
	hourly := func(o *engine.Options) { o.PollCap = time.Hour }
	hears := func(k *kind) bool { return k.name != "spin" && k.name != "quorum" }
	onEveryKind(t, hears, func(s *stage) {
		s.stock("stock:7")
		for range testkit.Times(s, 200, 6) {
			other := s.block(s.T, s.theirs, "stock:7")
			var calls []under
			for range 3 {
				calls = append(calls, s.source(s.ours, "stock:7").async(testkit.Soon(s)))
			}
			redistest.Await(s, "somebody to listen", func() bool { return s.listeners() >= s.kind.servers/2+1 })
			for _, server := range s.servers {
				server.KillClients("pubsub")
			}
			if err := other.back(testkit.Soon(s)); err != nil { // told to nobody, or to some
				s.Fatalf("give back: %v", err)
			}
			var wg sync.WaitGroup
			for i, call := range calls { // not all kinds serve them in their order
				wg.Go(func() {
					got, err := call.wait(testkit.Soon(s))
					if err == nil {
						err = got.back(testkit.Soon(s))
					}
					if err != nil {
						s.Errorf("waiter %d: %v", i, err)
					}
				})
			}
			if wg.Wait(); s.Failed() {
				return
			}
		}
		s.checkQuiet()
	}, hourly)
}

// Holders are told that what they hold is gone, by the next renewal at the latest, and may not give it back as
// if it were theirs.
func TestFaultKindsHoldersAreToldOfLoss(t *testing.T) {
	t.Parallel()
	onEveryKind(t, (*kind).hasHolders, func(s *stage) {
		s.stock("stock:7")
		got := s.block(s.T, s.ours, "stock:7")
		if s.blocker != nil && s.name == "reader" {
			if err := got.back(testkit.Soon(s)); err != nil {
				s.Fatal(err)
			}
			var err error
			if got, err = s.source(s.ours, "stock:7").get(testkit.Soon(s)); err != nil {
				s.Fatal(err)
			}
		}
		redistest.Await(s, "it to stand on every server", func() bool { return s.standsOn("stock:7") == len(s.servers) })
		ctx := got.hold.Context(s.Context())
		for _, server := range s.servers { // a quorum's hold does not wait for the last
			redistest.Await(s.T, "the key", func() bool { return server.MustDo("DBSIZE").Int > 0 })
		}
		for _, server := range s.servers[:len(s.servers)/2+1] {
			server.MustDo("FLUSHALL")
		}
		gone, deadline := time.Now(), got.hold.Deadline()
		if err := testkit.MustEnd(s.T, got.hold); !errors.Is(err, engine.ErrLost) {
			s.Errorf("the hold ended with %v, want ErrLost", err)
		}
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), engine.ErrLost) {
			s.Errorf("the context ended with %v, want ErrLost", context.Cause(ctx))
		}
		if told := time.Now(); told.After(deadline.Add(time.Second)) {
			s.Errorf("told %v after the deadline", told.Sub(deadline))
		}
		s.Logf("told %v after the key was gone", time.Since(gone).Round(time.Millisecond))
		if err := got.back(testkit.Soon(s)); !errors.Is(err, engine.ErrLost) {
			s.Errorf("Unlock of what is lost: %v, want ErrLost", err)
		}
		s.checkQuiet()
	}, testkit.Lease(6*time.Second))
}

// Close leaves what somebody else may use at once: holders' keys are freed, places in queues given up, waiters told.
// Only what has no holders stays: permits of a plain semaphore that were acquired, and a latch that is shut.
func TestFaultKindsCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	onEveryKind(t, everything, func(s *stage) {
		s.stock("held", "theirs")
		others, mine := s.block(s.T, s.theirs, "theirs"), s.block(s.T, s.ours, "held")
		var calls []under
		for range 50 {
			calls = append(calls, s.source(s.ours, "theirs").async(context.Background()))
		}
		redistest.Await(s, "them to wait", func() bool { return s.ours[0].Stats().Waiting > 0 || s.name == "quorum" || s.name == "multi" })
		for _, e := range s.ours {
			if err := e.Close(); err != nil {
				s.Errorf("close: %v", err)
			}
		}
		for _, call := range calls {
			if _, err := call.wait(testkit.Soon(s)); !errors.Is(err, engine.ErrClosed) {
				s.Fatalf("a waiter heard %v, want ErrClosed", err)
			}
		}
		if mine.hold != nil {
			if err := mine.hold.Err(); !errors.Is(err, engine.ErrClosed) || !errors.Is(err, engine.ErrLost) {
				s.Errorf("the hold ended with %v, want ErrLost and ErrClosed", err)
			}
		} else if !s.stands("held") {
			s.Error("Close has given back what has no holder")
		} else if err := mine.back(testkit.Soon(s)); !errors.Is(err, engine.ErrClosed) {
			s.Errorf("giving back after Close: %v, want ErrClosed", err)
		}
		if s.holders { // nothing of ours keeps others out
			again := s.block(s.T, s.theirs, "held")
			if err := again.back(testkit.Soon(s)); err != nil {
				s.Error(err)
			}
		}
		if err := others.back(testkit.Soon(s)); err != nil {
			s.Error(err)
		}
		if !s.holders {
			s.servers[0].MustDo("DEL", "held")
		}
		s.checkQuiet()
	})
}

// What cannot be right is ErrInvalid in every kind, and nothing is sent.
func TestKindsRefuseWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	owner := engine.WithOwner(engine.Owner{})
	lease := func(d time.Duration) []engine.LockOption { return []engine.LockOption{engine.WithLease(d)} }
	onEveryKind(t, everything, func(s *stage) {
		bad := map[string][]engine.LockOption{
			"a lease of 0": lease(0), "a negative lease": lease(-1), "a lease under 10ms": lease(9 * time.Millisecond),
			"a lease over 30 days": lease(engine.MaxLease + 1), "a wait of 0": {engine.WithWait(0)}, "a negative wait": {engine.WithWait(-1)},
			"the zero Owner": {owner}, "the zero option": {{}},
		}
		if !s.holders {
			bad["a lease of what has no holders"] = lease(time.Minute)
			bad["an owner of what has no holders"] = []engine.LockOption{engine.WithOwner(engine.NewOwner())}
		}
		before := s.servers[0].CommandCounts()["evalsha"]
		for what, opts := range bad {
			if _, err := s.source(s.ours, "stock:7").get(testkit.Soon(s), opts...); !errors.Is(err, engine.ErrInvalid) {
				s.Errorf("%s: %v, want ErrInvalid", what, err)
			}
		}
		for _, name := range []string{"", testkit.LongName(1025)} {
			if slices.Contains([]string{"multi", "quorum"}, s.name) {
				continue // they are not made: their own tests say so
			}
			if _, err := s.source(s.ours, name).get(testkit.Soon(s)); !errors.Is(err, engine.ErrInvalid) {
				s.Errorf("a name of %d bytes: %v, want ErrInvalid", len(name), err)
			}
			if _, err := s.source(s.ours, name).async(testkit.Soon(s)).wait(testkit.Soon(s)); !errors.Is(err, engine.ErrInvalid) {
				s.Errorf("a name of %d bytes, async: %v, want ErrInvalid", len(name), err)
			}
		}
		if n := s.servers[0].CommandCounts()["evalsha"] - before; n != 0 {
			s.Errorf("%d scripts were called", n)
		}
	})
}
