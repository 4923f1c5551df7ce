// Package wheel tells a loop when its leases and waits are due, without a timer for each of them.
//
// A loop keeps what is due later in Slots (slots.go), a value with no clock of its own: time is an argument, a Tick
// (tick.go). The first entry of a slot asks a Waker (waker.go) to wake the loop once its tick has begun. The loop then
// reads the Clock (clock.go) and takes what is due. One Clock and one Waker serve all loops of an engine. The Clock never goes
// back and counts the time the machine was suspended.
//
// Behind the Waker turns a timing wheel. It follows the wall clock and can get stuck, so a wake-up is only a hint. The
// loop has one timer of its own, a little later than the next slot, which makes every fault of the wheel harmless.
//
// The package is the engine's own: it makes no promise to other programs.
package wheel
