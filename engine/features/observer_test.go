package features_test

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// With many callers on a real server, each call is told of once, and each hold's end once.
func TestObserverIsToldOfEachCallOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var mu sync.Mutex
	var granted, handedOn, failed, ended, lost int64
	observe := func(o *engine.Options) {
		count := func(n *int64, yes bool) {
			mu.Lock()
			defer mu.Unlock()
			if yes {
				*n++
			}
		}
		o.Observer = &engine.Observer{
			Granted: func(g engine.Grant) { count(&granted, true); count(&handedOn, g.HandedOn) },
			Failed:  func(engine.Failure) { count(&failed, true) },
			Ended:   func(e engine.End) { count(&ended, true); count(&lost, !errors.Is(e.Err, engine.ErrUnlocked)) },
		}
	}
	e := testkit.Connect(t, server.Addr(), observe)
	const callers, rounds = 32, 50
	var refused int64
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			locks := testkit.Lockers(e, "hot")
			for round := range rounds {
				lock := locks[(caller+round)%len(locks)]
				var h *engine.Hold
				var err error
				switch (caller + round) % 3 {
				case 0:
					h, err = lock.LockAsync(testkit.Soon(t)).Wait(testkit.Soon(t))
				case 1:
					h, err = lock.TryLock(testkit.Soon(t))
				default:
					h, err = lock.Lock(testkit.Soon(t))
				}
				if err != nil {
					mu.Lock()
					refused++
					mu.Unlock()
					continue
				}
				if err := testkit.Patiently(h.Unlock); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	redistest.Await(t, "every call to be told of", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return granted+failed == callers*rounds && ended == granted
	})
	stats := e.Stats()
	mu.Lock()
	defer mu.Unlock()
	t.Logf("%d granted, of these %d handed on, %d failed", granted, handedOn, failed)
	if granted != stats.Granted || handedOn != stats.Handoffs || failed != refused || lost != 0 {
		t.Errorf("told of %d grants, %d handed on, %d failures, %d losses; want %d, %d, %d, 0", granted, handedOn, failed, lost, stats.Granted, stats.Handoffs, refused)
	}
}

// Each way in which a request or a hold can end has its word.
func TestOutcomesHaveTheirWords(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var mu sync.Mutex
	words := map[string]map[string]bool{"requests": {}, "holds": {}}
	add := func(of, word string) {
		mu.Lock()
		defer mu.Unlock()
		words[of][word] = true
	}
	observer := &engine.Observer{
		Granted: func(g engine.Grant) { add("requests", g.Outcome()) },
		Failed:  func(f engine.Failure) { add("requests", f.Outcome()) },
		Ended:   func(e engine.End) { add("holds", e.Outcome()) },
	}
	testkit.EveryOutcome(t, server, testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Observer = observer }), observer)
	for of, want := range map[string][]string{"requests": testkit.RequestOutcomes, "holds": testkit.HoldOutcomes} {
		want = slices.Sorted(slices.Values(want))
		redistest.Await(t, "every word of "+of, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(slices.Sorted(maps.Keys(words[of])), want)
		})
	}
}
