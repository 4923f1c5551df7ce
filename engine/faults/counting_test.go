package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A re-sent call must not take or give twice (invariant: change-has-one-effect), and what a cancelled caller was granted must come back.
func TestFaultPermitsAreNeitherLostNorMade(t *testing.T) {
	t.Parallel()
	const permits = 7
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e, other := testkit.Connect(t, proxy.Addr()), testkit.Connect(t, server.Addr())
	server.MustDo("SET", "pool", strconv.Itoa(permits))
	scripted := map[string]bool{}
	for _, s := range []scripts.Script{scripts.Take, scripts.Give} {
		proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(s), Nth: 20, Times: testkit.Times(t, 1000, 20)})
		before := e.Stats().Uncertain
		lost := testkit.Reached(before+1, func() int64 { return e.Stats().Uncertain })
		var inside, acquired atomic.Int64
		until := time.Now().Add(testkit.Lasting(t, time.Minute, 2*time.Second))
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				s := []*engine.Engine{e, other}[i%2].Semaphore("pool")
				for (time.Now().Before(until) || !lost()) && !t.Failed() {
					borrow(t, s, int64(1+i%3), permits, &inside, &acquired)
				}
			})
		}
		wg.Wait()
		proxy.SwallowNothing()
		scripted[s.Name] = e.Stats().Uncertain > before
		redistest.Await(t, "all permits to be back", func() bool { return server.MustDo("GET", "pool").Text == strconv.Itoa(permits) })
		t.Logf("%d acquired", acquired.Load())
	}
	if !scripted["take"] || !scripted["give"] {
		t.Errorf("answers were lost of: %v, want take and give", scripted)
	}
}

// borrow acquires and releases; one in four callers goes away after a moment.
func borrow(t *testing.T, s *engine.Semaphore, n, permits int64, inside, acquired *atomic.Int64) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	if rand.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	err := s.Acquire(ctx, n)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire: %v", err)
		}
		return
	}
	acquired.Add(1)
	if in := inside.Add(n); in > permits {
		t.Errorf("%d permits are out, of %d", in, permits)
	}
	inside.Add(-n)
	if err := testkit.Patiently(func(ctx context.Context) error { return s.Release(ctx, n) }); err != nil {
		t.Errorf("Release: %v", err)
	}
}

// invariant: change-has-one-effect
func TestFaultEveryCallCountsOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := testkit.Connect(t, proxy.Addr())
	s, l := e.Semaphore("pool"), e.CountDownLatch("start")
	lost := 0
	lose := func(script scripts.Script) {
		proxy.SwallowReply(redistest.Swallow{Match: testkit.Runs(script)})
		lost++
	}
	lose(scripts.SetPermits)
	if set, err := s.TrySetPermits(testkit.Soon(t), 10); !set || err != nil {
		t.Errorf("TrySetPermits = %t, %v, want true", set, err)
	}
	lose(scripts.Give)
	check(t, "Release", s.Release(testkit.Soon(t), 5))
	lose(scripts.AddPermits)
	check(t, "AddPermits", s.AddPermits(testkit.Soon(t), -3))
	lose(scripts.Take)
	check(t, "Acquire", s.Acquire(testkit.Soon(t), 2))
	if n, err := s.Available(testkit.Soon(t)); n != 10 || err != nil {
		t.Errorf("Available = %d, %v, want 10 + 5 - 3 - 2", n, err)
	}
	lose(scripts.DrainPermits)
	if n, err := s.Drain(testkit.Soon(t)); n != 10 || err != nil {
		t.Errorf("Drain = %d, %v, want 10", n, err)
	}
	lose(scripts.DeletePermits)
	if deleted, err := s.Delete(testkit.Soon(t)); !deleted || err != nil {
		t.Errorf("Delete = %t, %v, want true", deleted, err)
	}
	lose(scripts.SetPermits)
	if set, err := s.TrySetPermitsFor(testkit.Soon(t), 4, 50*time.Second); !set || err != nil {
		t.Errorf("TrySetPermitsFor = %t, %v, want true", set, err)
	}
	p := e.PermitSemaphore("desks")
	lose(scripts.PermitSet)
	check(t, "SetPermits", p.SetPermits(testkit.Soon(t), 4))
	if n, err := p.Available(testkit.Soon(t)); n != 4 || err != nil {
		t.Errorf("Available = %d, %v, want 4", n, err)
	}
	lose(scripts.PermitDelete)
	if deleted, err := p.Delete(testkit.Soon(t)); !deleted || err != nil {
		t.Errorf("Delete = %t, %v, want true", deleted, err)
	}
	lose(scripts.SetCount)
	if set, err := l.TrySetCount(testkit.Soon(t), 2); !set || err != nil {
		t.Errorf("TrySetCount = %t, %v, want true", set, err)
	}
	lose(scripts.CountDown)
	check(t, "CountDown", l.CountDown(testkit.Soon(t)))
	if n, err := l.Count(testkit.Soon(t)); n != 1 || err != nil {
		t.Errorf("Count = %d, %v, want 1", n, err)
	}
	lose(scripts.DeleteCount)
	if deleted, err := l.Delete(testkit.Soon(t)); !deleted || err != nil {
		t.Errorf("Delete = %t, %v, want true", deleted, err)
	}
	if n := e.Stats().Uncertain; n != int64(lost) {
		t.Errorf("%d answers were lost, want %d", n, lost)
	}
	for _, key := range server.Keys() {
		if ttl := server.MustDo("PTTL", key).Int; ttl <= 0 || ttl > 60_000 {
			t.Errorf("%s is left behind for %d ms", key, ttl)
		}
	}
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A waiter whose connection for messages is killed looks again, whatever was announced meanwhile.
func TestFaultWaitersOfCountsAreNotStranded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
	server.MustDo("SET", "start", "1")
	for range testkit.Times(t, 200, 10) {
		acquires, waits := e.Semaphore("pool").AcquireAsync(testkit.Soon(t), 1), e.CountDownLatch("start").WaitAsync(testkit.Soon(t))
		redistest.Await(t, "both to listen", func() bool { return len(server.Subscriptions().Channels) == 2 })
		server.MustDo("SET", "pool", "1") // told to nobody
		server.MustDo("DEL", "start")
		server.KillClients("pubsub")
		if _, err := acquires.Wait(testkit.Soon(t)); err != nil {
			t.Fatalf("Acquire: %v", err)
		}
		if _, err := waits.Wait(testkit.Soon(t)); err != nil {
			t.Fatalf("Wait: %v", err)
		}
		server.MustDo("SET", "start", "1")
	}
}

func TestFaultReleaseAtMaxmemory(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	s, l := e.Semaphore("pool"), e.CountDownLatch("start")
	server.MustDo("SET", "pool", "1")
	server.MustDo("SET", "start", "2")
	check(t, "Acquire", s.Acquire(testkit.Soon(t), 1))
	server.MustDo("CONFIG", "SET", "maxmemory", "1")
	check(t, "Release", s.Release(testkit.Soon(t), 1))
	check(t, "CountDown", l.CountDown(testkit.Soon(t)))
	if err := s.TryAcquire(testkit.Soon(t), 1); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("TryAcquire at maxmemory: %v, want ErrRefused", err)
	} else {
		testkit.Mentions(t, err, "OOM")
	}
	server.MustDo("CONFIG", "SET", "maxmemory", "0")
	if pool, start := server.MustDo("GET", "pool").Text, server.MustDo("GET", "start").Text; pool != "1" || start != "1" {
		t.Errorf("pool = %s, start = %s, want 1, 1", pool, start)
	}
}

// The other party speaks raw Redisson: the commands that its scripts run.
func TestCountsBesideRedisson(t *testing.T) {
	t.Run("a semaphore", func(t *testing.T) {
		for name, channel := range map[string]string{"pool": "redisson_sc:{pool}", "po{o}l": "redisson_sc:po{o}l"} {
			server := redistest.Start(t)
			e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
			s, monitor := e.Semaphore(name), server.Monitor()
			waiter := s.AcquireAsync(testkit.Soon(t), 2)
			redistest.Await(t, "it to listen", func() bool { return slices.Contains(server.Subscriptions().Channels, channel) })
			for _, message := range []string{"0", "-1", "none of ours"} { // must do no harm
				server.MustDo("PUBLISH", channel, message)
			}
			server.MustDo("INCRBY", name, "3")
			server.MustDo("PUBLISH", channel, "3")
			_, err := waiter.Wait(testkit.Soon(t))
			check(t, "Acquire", err)
			if left := server.MustDo("GET", name).Text; left != "1" {
				t.Errorf("permits left = %s, want 1", left)
			}
			check(t, "Release", s.Release(testkit.Soon(t), 2))
			check(t, "AddPermits", s.AddPermits(testkit.Soon(t), 4))
			server.MustDo("DEL", name)
			s.TrySetPermits(testkit.Soon(t), 5)
			wantPublished(t, monitor, channel, "0", "-1", "none of ours", "3", "3", "7", "5")
		}
	})
	t.Run("a latch", func(t *testing.T) {
		for _, name := range []string{"start", "{st}art"} {
			channel := "redisson_countdownlatch__channel__{" + name + "}"
			server := redistest.Start(t)
			e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.PollCap = time.Hour })
			l, monitor := e.CountDownLatch(name), server.Monitor()
			l.TrySetCount(testkit.Soon(t), 2)
			waiter := l.WaitAsync(testkit.Soon(t))
			redistest.Await(t, "it to listen", func() bool { return slices.Contains(server.Subscriptions().Channels, channel) })
			check(t, "CountDown", l.CountDown(testkit.Soon(t)))
			server.MustDo("DECR", name)
			server.MustDo("DEL", name)
			server.MustDo("PUBLISH", channel, "0")
			_, err := waiter.Wait(testkit.Soon(t))
			check(t, "Wait", err)
			l.TrySetCount(testkit.Soon(t), 1)
			check(t, "CountDown", l.CountDown(testkit.Soon(t)))
			check(t, "CountDown", l.CountDown(testkit.Soon(t))) // of nothing: nobody is told
			l.TrySetCount(testkit.Soon(t), 1)
			l.Delete(testkit.Soon(t))
			wantPublished(t, monitor, channel, "1", "0", "1", "0", "1", "1")
		}
	})
}

// wantPublished checks what was published on a channel, by anybody.
func wantPublished(t *testing.T, m *redistest.Monitor, channel string, want ...string) {
	t.Helper()
	var got []string
	for _, line := range m.Stop() {
		if _, after, found := strings.Cut(line, fmt.Sprintf("\"PUBLISH\" %q ", channel)); found {
			text, _ := strconv.Unquote(after)
			got = append(got, text)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("published on %s: %q, want %q", channel, got, want)
	}
}
