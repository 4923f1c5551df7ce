// Package wheel tells a loop when its leases and waits are due, without a timer for each of them.
//
// A loop keeps its deadlines in Slots, a value with no clock of its own: time is an argument, a Tick. The first entry of a slot asks
// a Waker to wake the loop once its tick has begun. The loop then reads the Clock and takes the entries that are due. An engine has
// one Clock. It never goes back, and counts the time for which the machine was suspended.
//
// The Waker uses a timing wheel, which follows the wall clock and can get stuck, so a wake-up is only a hint. The
// loop has one timer of its own, a little later than the next slot, which makes every fault of the timing wheel harmless.
//
// The package is the engine's own: it makes no promise to other programs.
package wheel
