//go:build !wheellock_stall

// Package stall names the points at which a goroutine may be kept from running just when it matters: between a look at
// the clock and what is done about it, between a check and its effect. Preemption, garbage collection, SIGSTOP and
// suspended machines do that anywhere, but too rarely for a test.
//
// In a normal build At does nothing and costs nothing, and a Watch is the system's. With the build tag wheellock_stall a
// test decides what happens there (Set), and what the clocks of engines say (SetWatch).
package stall

import "time"

// At is a point at which a test may let time pass, in the engine of that UUID.
func At(point, engine string) {}

// Watch is what a test may say of the monotonic clock of an engine: nothing.
type Watch struct{}

// NewWatch makes that of the next engine.
func NewWatch() Watch { return Watch{} }

// Counted is what the engine's clock has counted when truly so much time has passed.
func (Watch) Counted(since time.Duration) time.Duration { return since }

// Gauge says how much of the time was not counted, as that in which the machine was suspended; nil: the system knows.
func (Watch) Gauge() func() time.Duration { return nil }
