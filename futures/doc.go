// Package futures holds answers that are not there yet.
//
// A [Future] is what an asynchronous call returns. A caller may block in [Future.Wait], select on [Future.Done],
// register a callback with [Future.Then], transform the answer with [Map], or wait for many with [All]:
//
//	e.Mutex("stock:7").LockAsync(ctx).Then(func(hold *engine.Hold, err error) {
//		...
//	})
//
// [Future.Cancel] ends the request. The end of Wait's context ends only that Wait: the answer may still come,
// and take effect.
//
// Callers of the engine need only Future, Map, All and the errors. The rest is machinery, for code that makes futures:
// a [Promise] settles one, a [Canceler] is called when it is cancelled, and a [Runner] with its [Task], [Parkers] and
// [PanicHandler] runs callbacks.
//
// Promises of the implementation: Settle and Cancel compete by one compare-and-swap; the loser changes nothing and
// gets false. The answer can be read first, then the waiters are woken in the order in which they came. Settle runs no
// code of users and does not block; callbacks go to the Runner. The package starts no goroutine, except for callbacks
// of a future without a Runner. A waiter is a struct in a queue: it costs no goroutine and no timer.
package futures
