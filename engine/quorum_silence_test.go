package engine_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A majority that is silent for a while is waited for, as long as the context says.
func TestQuorumWaitsForASilentMajority(t *testing.T) {
	t.Parallel()
	onFleet(t, engine.Options{}, func(f *fleet) {
		q := f.lock()
		for i := range 3 {
			f.blackHole(i, 15*time.Second)
		}
		testkit.MustUnlock(f.T, testkit.MustLock(f.T, q))
	})
}
