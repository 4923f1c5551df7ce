// Package futures holds answers that are not there yet.
//
// A [Promise] is the settling side of an answer, a [Future] the same memory seen by those who want it
// (promise.go, future.go). Whoever wants the answer stands in one queue (waiters.go): a goroutine blocked
// in Wait with a parker (parker.go), a callback of [Future.Then] or [Map] (derived.go), or a count of
// [All] (all.go). errors.go says what a callback that did not return leaves behind.
//
// Decision: Settle and Cancel race on one compare-and-swap; the loser changes nothing and is told so.
// Order: the answer is published first, then the queue is served, first come, first served.
// Goroutines: Settle runs none of the user's code and does not block; callbacks go to the [Runner]. The
// package starts no goroutine, except for callbacks of a future without a Runner.
// Memory: a waiter is a struct in the queue; nothing here costs a goroutine or a timer.
package futures
