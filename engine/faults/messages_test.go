package faults_test

import (
	"context"
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
	"github.com/wheellock/wheellock/scripts"
)

// wakeUps has another process hold and free names for which the engine waits, and returns how long each wait
// went on after its name was free.
func wakeUps(t *testing.T, e *engine.Engine, outside *testkit.Outsider, names, rounds int) []time.Duration {
	t.Helper()
	var mu sync.Mutex // guards waits
	var waits []time.Duration
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			name := fmt.Sprintf("woken:%d", i)
			for range rounds {
				outside.Take(name, time.Hour)
				ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
				f := e.Mutex(name).LockAsync(ctx)
				time.Sleep(rand.N(300 * time.Millisecond))
				if !outside.Free(name) {
					t.Errorf("%s was taken from its owner", name)
				}
				freed := time.Now()
				h, err := f.Wait(ctx)
				waited := time.Since(freed)
				if err == nil {
					err = h.Unlock(ctx)
				}
				cancel()
				if err != nil {
					t.Errorf("%s, %v after it was free: %v", name, waited, err)
					return
				}
				mu.Lock()
				waits = append(waits, waited)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(waits)
	return waits
}

// reportWaits prints the distribution and returns its middle and its worst.
func reportWaits(t *testing.T, waits []time.Duration) (median, worst time.Duration) {
	t.Helper()
	if len(waits) == 0 {
		t.Fatal("nobody was woken")
	}
	median, worst = waits[len(waits)/2], waits[len(waits)-1]
	t.Logf("%d waits went on after the name was free for %v in the middle, %v at worst", len(waits), median.Round(time.Microsecond), worst.Round(time.Microsecond))
	return median, worst
}

// pollSlack is what a busy machine gets on top of the poll cap.
const pollSlack = 3 * time.Second

// A message that is lost with its connection costs at most the poll cap.
func TestFaultSubscriberKilledEvery200ms(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	kills, granted := 0, int64(0)
	stop := testkit.Every(t, 200*time.Millisecond, func() {
		if now := e.Stats().Granted; now != granted { // else a busy machine needs longer to listen again
			granted = now
			kills += int(server.Do("CLIENT", "KILL", "TYPE", "pubsub").Int)
		}
	})
	waits := wakeUps(t, e, outside, 8, testkit.Times(t, 200, 20))
	stop()
	t.Logf("%d subscribers killed", kills)
	if kills < 5 {
		t.Errorf("only %d subscribers were killed", kills)
	}
	median, worst := reportWaits(t, waits)
	if worst > 2*time.Second+pollSlack {
		t.Errorf("a waiter waited %v after its name was free, with a poll cap of 2s", worst)
	}
	if median > 500*time.Millisecond {
		t.Errorf("waiters waited %v in the middle: subscriptions do not come back", median)
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// A message that is lost on the way costs at most the poll cap.
func TestFaultMessagesLost(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.1, 1} {
		t.Run(fmt.Sprintf("%.0f%%", 100*share), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			proxy.LoseMessages(share)
			e := testkit.Connect(t, proxy.Addr())
			var waits []time.Duration
			for proxy.Stats().LostMessages == 0 { // of two dozen messages none may be among a tenth
				waits = append(waits, wakeUps(t, e, testkit.NewOutsider(t, server.Addr()), 8, testkit.Times(t, 100, 3))...)
			}
			if _, worst := reportWaits(t, waits); worst > 2*time.Second+pollSlack {
				t.Errorf("a waiter waited %v after its name was free, with a poll cap of 2s", worst)
			}
			testkit.CheckQuiet(t, server, e, 0)
		})
	}
}

// With a poll cap of an hour and owners whose leases end in an hour, only a message can wake a waiter.
func TestFaultOnlyMessagesWake(t *testing.T) {
	server := redistest.Start(t)
	hourly := func(o *engine.Options) { o.PollCap = time.Hour }
	t.Run("who waits for another program", func(t *testing.T) {
		e := testkit.Connect(t, server.Addr(), hourly)
		outside := testkit.NewOutsider(t, server.Addr())
		var beside []time.Duration // how long a round trip takes meanwhile
		stop := testkit.Every(t, 10*time.Millisecond, func() {
			began := time.Now()
			outside.Client.Do(context.Background(), outside.Client.B().Ping().Build())
			beside = append(beside, time.Since(began))
		})
		median, worst := reportWaits(t, wakeUps(t, e, outside, 8, testkit.Times(t, 100, 10)))
		stop()
		slices.Sort(beside)
		if trip := beside[len(beside)/2]; median > 50*time.Millisecond+4*trip { // a message, and two questions
			t.Errorf("woken %v after the name was free in the middle, want 50ms and four round trips of %v at most", median, trip)
		}
		if worst > 10*time.Second {
			t.Errorf("a waiter was woken only after %v", worst)
		}
		testkit.CheckQuiet(t, server, e, 0)
	})
	t.Run("among engines that pass names on", func(t *testing.T) { // their own messages and others' come mixed
		engines := []*engine.Engine{testkit.Connect(t, server.Addr(), hourly), testkit.Connect(t, server.Addr(), hourly), testkit.Connect(t, server.Addr(), hourly)}
		until := time.Now().Add(testkit.Lasting(t, time.Minute, 3*time.Second))
		var wg sync.WaitGroup
		var grants, worst atomic.Int64
		for i := range 24 {
			wg.Go(func() {
				m := engines[i%3].Mutex(fmt.Sprintf("mixed:%d", i%4))
				for time.Now().Before(until) && !t.Failed() {
					asked := time.Now()
					ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
					h, err := m.Lock(ctx)
					if err == nil {
						grants.Add(1)
						for waited := int64(time.Since(asked)); waited > worst.Load(); {
							worst.Store(waited)
						}
						time.Sleep(rand.N(time.Millisecond))
						err = h.Unlock(ctx)
					}
					cancel()
					if err != nil {
						t.Errorf("%s: %v", m.Name(), err)
					}
					if rand.IntN(4) == 0 {
						time.Sleep(rand.N(5 * time.Millisecond))
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d grants, the longest wait %v", grants.Load(), time.Duration(worst.Load()).Round(time.Millisecond))
	})
}

// Invariant: what messages make an engine do is bounded for each name, however many are published.
// invariant: one-command-per-name
func TestFaultFloodOfMessages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	const names = 50
	for i := range names {
		name := fmt.Sprint("wait:", i)
		outside.Take(name, time.Hour)
		e.Mutex(name).LockAsync(t.Context())
	}
	redistest.Await(t, "all channels to be heard", func() bool { return server.Subscriptions().Count() == names })
	before, began, messages := e.Stats().Attempts, time.Now(), 0
	for ; time.Since(began) < time.Second; messages++ {
		server.MustDo("PUBLISH", scripts.LockChannel(fmt.Sprint("wait:", messages%names)), "0")
	}
	asked := e.Stats().Attempts - before
	t.Logf("%d messages in %v led to %d questions about %d names", messages, time.Since(began), asked, names)
	if most := int64(names * 100); asked > most {
		t.Errorf("%d messages led to %d questions, want at most %d", messages, asked, most)
	}
}
