package scale_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// TestStatsAfterAKnownSequence also holds the JSON form, in which others keep what they read.
func TestStatsAfterAKnownSequence(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.HandoffTime, o.MaxWaitersPerName = 3*time.Second, 2 })
	wantJSON(t, e.Stats(), `{"up":true,"held":0,"waiting":0,"granted":0,"handoffs":0,"attempts":0,"waits":0,"lost":0,"at_risk":0,"forgotten":0,`+
		`"refused":0,"uncertain":0,"overflowed":0,"batches":0,"narrow":0,"oldest_hold":0}`)

	server.MustDo("HSET", "theirs", "somebody else", "1")
	first, err := e.Mutex("ours").Lock(t.Context())
	testkit.Must(t, err)
	second, third := e.Mutex("ours").LockAsync(t.Context()), e.Mutex("ours").LockAsync(t.Context())
	if _, err := e.Mutex("ours").LockAsync(t.Context()).Wait(t.Context()); !errors.Is(err, engine.ErrOverloaded) {
		t.Fatalf("the third waiter got %v, want ErrOverloaded", err)
	}
	if _, err := e.Mutex("theirs").TryLock(t.Context()); !errors.Is(err, engine.ErrHeld) {
		t.Fatalf("TryLock: %v, want ErrHeld", err)
	}
	wantJSON(t, e.Stats(), `{"up":true,"held":1,"waiting":2,"granted":1,"handoffs":0,"attempts":2,"waits":1,"lost":0,"at_risk":0,"forgotten":0,`+
		`"refused":1,"uncertain":0,"overflowed":0,"batches":0,"narrow":0,"oldest_hold":1}`)

	testkit.Must(t, first.Unlock(t.Context()))
	next, err := second.Wait(t.Context())
	testkit.Must(t, err)
	third.Cancel()
	fixed, err := e.Mutex("fixed").Lock(t.Context(), engine.WithLease(2*time.Second)) // a busy machine is answered in that
	testkit.Must(t, err)
	<-fixed.Done()
	wantJSON(t, e.Stats(), `{"up":true,"held":1,"waiting":0,"granted":3,"handoffs":1,"attempts":3,"waits":1,"lost":1,"at_risk":0,"forgotten":0,`+
		`"refused":1,"uncertain":0,"overflowed":0,"batches":0,"narrow":0,"oldest_hold":1}`)

	testkit.Must(t, next.Unlock(context.Background()))
	wantJSON(t, e.Stats(), `{"up":true,"held":0,"waiting":0,"granted":3,"handoffs":1,"attempts":3,"waits":1,"lost":1,"at_risk":0,"forgotten":0,`+
		`"refused":1,"uncertain":0,"overflowed":0,"batches":0,"narrow":0,"oldest_hold":0}`)
}

// wantJSON compares stats with a text in which batches, which depend on the hour, are 0, and the age of the
// oldest hold is 1 for any.
func wantJSON(t *testing.T, stats engine.Stats, want string) {
	t.Helper()
	if commands := stats.Attempts + stats.Granted - stats.Handoffs; stats.Batches < 0 || stats.Batches > 2*commands {
		t.Errorf("%d batches for some %d commands", stats.Batches, commands)
	}
	stats.Batches = 0
	stats.OldestHold = min(stats.OldestHold, 1)
	got, err := json.Marshal(stats)
	if err != nil || string(got) != want {
		t.Errorf("stats are\n%s, %v, want\n%s", got, err, want)
	}
}
