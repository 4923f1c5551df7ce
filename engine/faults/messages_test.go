package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
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
