package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// wakeUps has another program hold and free names for which the engine waits, and returns how long the waits went on after the name
// was free: in the middle, and at worst.
func wakeUps(w *virtual.World, e *engine.Engine, rounds int) (median, worst time.Duration) {
	w.T.Helper()
	var mu sync.Mutex // guards waits
	var waits []time.Duration
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("woken:%d", i)
			for range rounds {
				w.Take(name, time.Hour)
				f := e.Mutex(name).LockAsync(testkit.Soon(w.T))
				time.Sleep(rand.N(300 * time.Millisecond))
				if !w.Free(name) {
					w.T.Errorf("%s was taken from its owner", name)
				}
				freed := time.Now()
				h, err := f.Wait(context.Background())
				waited := time.Since(freed)
				if err != nil {
					w.T.Errorf("%s, %v after it was free: %v", name, waited, err)
					return
				}
				testkit.MustUnlock(w.T, h)
				mu.Lock()
				waits = append(waits, waited)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if w.T.Failed() {
		w.T.FailNow()
	}
	slices.Sort(waits)
	median, worst = waits[len(waits)/2], waits[len(waits)-1]
	w.T.Logf("%d waits went on after the name was free for %v in the middle, %v at worst", len(waits), median, worst)
	return median, worst
}

// pollTime is the longest wait for what nobody is told of: the poll cap, less than half of it more by chance, and the answer.
const pollTime = 2*time.Second + 100*time.Millisecond

// A message that is lost with its connection costs at most the poll cap.
func TestFaultSubscriberKilledEvery200ms(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		kills := 0
		stop := testkit.Every(w.T, 200*time.Millisecond, func() { kills += w.Server.KillListeners() })
		median, worst := wakeUps(w, e, testkit.Times(t, 2000, 40))
		stop()
		w.T.Logf("%d subscribers killed", kills)
		if kills < 20 || worst > pollTime || median > 500*time.Millisecond {
			w.T.Errorf("%d subscribers were killed; waiters waited %v in the middle and %v at worst, with a poll cap of 2s", kills, median, worst)
		}
		w.Quiet(e, 0)
	})
}

// A message that is lost on the way costs at most the poll cap.
func TestFaultMessagesLost(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{10, 100} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			t.Parallel()
			virtual.Test(t, func(w *virtual.World) {
				lost := 0
				w.Server.LoseMessages(func() bool {
					if rand.IntN(100) < percent {
						lost++
						return true
					}
					return false
				})
				e, _ := w.Connect()
				if _, worst := wakeUps(w, e, testkit.Times(t, 2000, 12)); worst > pollTime || lost == 0 {
					w.T.Errorf("a waiter waited %v after its name was free, with a poll cap of 2s; %d messages got lost", worst, lost)
				}
				w.Quiet(e, 0)
			})
		})
	}
}

// With a poll cap of an hour and owners whose leases end in an hour, only a message can wake a waiter.
func TestFaultOnlyMessagesWake(t *testing.T) {
	t.Parallel()
	t.Run("who waits for another program", func(t *testing.T) {
		t.Parallel()
		virtual.Test(t, func(w *virtual.World) {
			e, _ := w.Connect(testkit.OnlyMessages)
			if _, worst := wakeUps(w, e, testkit.Times(t, 2000, 12)); worst > 5*time.Millisecond { // a message, and two questions
				w.T.Errorf("a waiter was woken only after %v", worst)
			}
			w.Quiet(e, 0)
		})
	})
	t.Run("among engines that pass names on", func(t *testing.T) { // their own messages and others' come mixed
		t.Parallel()
		virtual.Test(t, func(w *virtual.World) {
			var engines []*engine.Engine
			for range 3 {
				e, _ := w.Connect(testkit.OnlyMessages)
				engines = append(engines, e)
			}
			until := time.Now().Add(testkit.Lasting(t, time.Minute, 400*time.Millisecond))
			var wg sync.WaitGroup
			var grants, worst atomic.Int64
			for i := range 24 {
				wg.Go(func() {
					m := engines[i%3].Mutex(fmt.Sprintf("mixed:%d", i%4))
					for time.Now().Before(until) && !w.T.Failed() {
						asked := time.Now()
						h := testkit.MustLock(w.T, m)
						grants.Add(1)
						for waited := int64(time.Since(asked)); waited > worst.Load(); {
							worst.Store(waited)
						}
						time.Sleep(rand.N(time.Millisecond))
						testkit.MustUnlock(w.T, h)
						if rand.IntN(4) == 0 {
							time.Sleep(rand.N(5 * time.Millisecond))
						}
					}
				})
			}
			wg.Wait()
			w.T.Logf("%d grants, the longest wait %v", grants.Load(), time.Duration(worst.Load()))
			if worst := time.Duration(worst.Load()); worst > time.Second {
				w.T.Errorf("somebody waited %v", worst)
			}
		})
	})
}

// Invariant: what messages make an engine do is bounded for each name, however many are published.
// invariant: one-command-per-name
func TestFaultFloodOfMessages(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect()
		const names, messages = 20, 5000
		for i := range names {
			name := fmt.Sprint("wait:", i)
			w.Take(name, time.Hour)
			e.Mutex(name).LockAsync(w.T.Context())
		}
		time.Sleep(100 * time.Millisecond)
		if n := len(w.Server.Subscriptions()); n != 2*names { // the inbox, and the name's own for the first in line
			w.T.Errorf("%d channels are listened to", n)
		}
		before, began := e.Stats().Attempts, time.Now()
		for i := range messages {
			name := fmt.Sprint("wait:", i%names)
			w.Server.Do("PUBLISH", scripts.LockChannel(name), "0")
			w.Server.Do("PUBLISH", scripts.Inbox(scripts.LockChannel(name), e.ID()), strconv.Itoa(rand.IntN(3)))
			time.Sleep(time.Second / messages)
		}
		asked := e.Stats().Attempts - before
		w.T.Logf("%d messages in %v led to %d questions about %d names", messages, time.Since(began), asked, names)
		if most := int64(names * 100); asked < names || asked > most {
			w.T.Errorf("%d messages led to %d questions, want at most %d", messages, asked, most)
		}
	})
}
