//go:build !wheellock_stall

// Package stall names the points at which a goroutine may be kept from running just when it matters: between a look at
// the clock and what is done about it, between a check and its effect. Preemption, garbage collection, SIGSTOP and
// suspended machines do that anywhere, but too rarely for a test.
//
// In a normal build At does nothing and costs nothing. With the build tag wheellock_stall a test decides what happens
// there (Set).
package stall

// At is a point at which a test may let time pass.
func At(string) {}
