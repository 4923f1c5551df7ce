package testkit

import (
	"sync/atomic"
	"testing"
	"time"
)

// paceStep is how long one turn of Pace sleeps.
const paceStep = 10 * time.Millisecond

// Pace is a clock that goes as slowly as the machine: each turn it sleeps 10 ms, does what the caller of a lock needs a machine for,
// such as a round trip to the server, and counts 10 ms. On an idle machine it shows what every clock shows.
func Pace(tb testing.TB, do func()) (elapsed func() time.Duration) {
	var turns atomic.Int64
	Every(tb, paceStep, func() {
		do()
		turns.Add(1)
	})
	return func() time.Duration { return time.Duration(turns.Load()) * paceStep }
}
