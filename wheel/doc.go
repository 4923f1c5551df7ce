// Package wheel tells a loop when its leases and waits are due, without a timer for each of them.
//
// An event loop keeps what is due later in Slots (slots.go), a value with no clock of its own: time is an
// argument, a Tick (tick.go). The first entry of a slot asks for the slot's alarm; one Alarm per engine
// (alarm.go) rings it once the tick has begun, by posting to the loop's mailbox. The loop then reads the
// Clock (clock.go) and takes what is due. One Clock serves a whole engine: it never goes back and counts
// the time the machine was suspended.
//
// Behind the Alarm turns a timing wheel, armed by its hand (hand.go). The wheel follows the wall clock and
// can get stuck, so it is only a hint: what is due is decided by the Clock and the Alarm's own table, and a
// check once a second (check.go) throws away a wheel that misses its heartbeat or whose clock jumped, and arms
// another one.
//
// The package is the engine's own: it makes no promise to other programs.
package wheel
