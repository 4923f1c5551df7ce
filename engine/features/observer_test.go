package features_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

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
