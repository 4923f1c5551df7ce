package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// invariant: change-has-one-effect
func TestFaultEveryCallCountsOnce(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, link := w.Connect()
		s, l := e.Semaphore("pool"), e.CountDownLatch("start")
		lost := 0
		lose := func(script scripts.Script) {
			link.Down.Swallow(1, virtual.Runs(script))
			lost++
		}
		lose(scripts.SetPermits)
		if set, err := s.TrySetPermits(testkit.Soon(w.T), 10); !set || err != nil {
			w.T.Errorf("TrySetPermits = %t, %v, want true", set, err)
		}
		lose(scripts.Give)
		check(w.T, "Release", s.Release(testkit.Soon(w.T), 5))
		lose(scripts.AddPermits)
		check(w.T, "AddPermits", s.AddPermits(testkit.Soon(w.T), -3))
		lose(scripts.Take)
		check(w.T, "Acquire", s.Acquire(testkit.Soon(w.T), 2))
		if n, err := s.Available(testkit.Soon(w.T)); n != 10 || err != nil {
			w.T.Errorf("Available = %d, %v, want 10 + 5 - 3 - 2", n, err)
		}
		lose(scripts.DrainPermits)
		if n, err := s.Drain(testkit.Soon(w.T)); n != 10 || err != nil {
			w.T.Errorf("Drain = %d, %v, want 10", n, err)
		}
		lose(scripts.DeletePermits)
		if deleted, err := s.Delete(testkit.Soon(w.T)); !deleted || err != nil {
			w.T.Errorf("Delete = %t, %v, want true", deleted, err)
		}
		lose(scripts.SetPermits)
		if set, err := s.TrySetPermitsFor(testkit.Soon(w.T), 4, 50*time.Second); !set || err != nil {
			w.T.Errorf("TrySetPermitsFor = %t, %v, want true", set, err)
		}
		p := e.PermitSemaphore("desks")
		lose(scripts.PermitSet)
		check(w.T, "SetPermits", p.SetPermits(testkit.Soon(w.T), 4))
		if n, err := p.Available(testkit.Soon(w.T)); n != 4 || err != nil {
			w.T.Errorf("Available = %d, %v, want 4", n, err)
		}
		lose(scripts.PermitDelete)
		if deleted, err := p.Delete(testkit.Soon(w.T)); !deleted || err != nil {
			w.T.Errorf("Delete = %t, %v, want true", deleted, err)
		}
		lose(scripts.SetCount)
		if set, err := l.TrySetCount(testkit.Soon(w.T), 2); !set || err != nil {
			w.T.Errorf("TrySetCount = %t, %v, want true", set, err)
		}
		lose(scripts.CountDown)
		check(w.T, "CountDown", l.CountDown(testkit.Soon(w.T)))
		if n, err := l.Count(testkit.Soon(w.T)); n != 1 || err != nil {
			w.T.Errorf("Count = %d, %v, want 1", n, err)
		}
		lose(scripts.DeleteCount)
		if deleted, err := l.Delete(testkit.Soon(w.T)); !deleted || err != nil {
			w.T.Errorf("Delete = %t, %v, want true", deleted, err)
		}
		if n := e.Stats().Uncertain; n != int64(lost) {
			w.T.Errorf("%d answers were lost, want %d", n, lost)
		}
		for _, key := range w.Server.Keys() {
			if ttl := w.Server.Do("PTTL", key).Int; ttl <= 0 || ttl > 60_000 {
				w.T.Errorf("%s is left behind for %d ms", key, ttl)
			}
		}
	})
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A server at maxmemory refuses nothing that gives back.
func TestFaultReleaseAtMaxmemory(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	t.Run("a semaphore", func(t *testing.T) {
		for name, channel := range map[string]string{"pool": "redisson_sc:{pool}", "po{o}l": "redisson_sc:po{o}l"} {
			server := redistest.Start(t)
			e := testkit.Connect(t, server.Addr(), testkit.OnlyMessages)
			s, monitor := e.Semaphore(name), server.Monitor()
			waiter := s.AcquireAsync(testkit.Soon(t), 2)
			redistest.Await(t, "it to stand in line", func() bool { return testkit.InLine(server, name) == 1 })
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
			e := testkit.Connect(t, server.Addr(), testkit.OnlyMessages)
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
