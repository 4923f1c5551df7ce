package futures

import (
	"errors"
	"runtime/debug"
)

// Then has fn called once with the answer, by the Runner and never on the goroutine that settles f, so fn
// may block, cancel, wait and register more. Callbacks of one future are handed to the Runner in the order
// they were registered.
//
// The new future has the same answer and settles after fn returned. If fn panicked its error is a
// [*PanicError], if fn called runtime.Goexit [ErrGoexit], joined with the error of f if there was one; the
// value stays that of f. Cancelling the new future cancels f; fn is called all the same, with the answer
// f has then.
func (f *Future[T]) Then(fn func(T, error)) *Future[T] {
	return derive(f, func(v T, err error, out *answer[T]) {
		out.value, out.err = v, err // first, so that it stays when fn does not return
		fn(v, err)
	})
}

// Map has fn called once with the answer of f, as [Future.Then] does, and returns a future for what fn
// returns. If fn does not return, the value is zero and the error as with Then. Cancelling the new future
// cancels f; fn is called all the same and its result dropped.
func Map[T, U any](f *Future[T], fn func(T, error) (U, error)) *Future[U] {
	return derive(f, func(v T, err error, out *answer[U]) {
		out.value, out.err = fn(v, err)
	})
}

type answer[T any] struct {
	value T
	err   error
}

// derived is a future made from another one by a callback.
type derived[T, U any] struct {
	future Future[U]
	waiter waiter     // in the queue of source
	source *Future[T] // cleared by run once no Cancelled can come: a long chain must not keep its beginning
	task   func()     // run with the callback, bound at registration so that settling allocates nothing
}

func derive[T, U any](source *Future[T], callback func(T, error, *answer[U])) *Future[U] {
	d := &derived[T, U]{source: source}
	d.future.runner, d.future.canceler = source.runner, d
	d.waiter.owner = d
	d.task = func() { d.run(callback) }
	if !source.join(&d.waiter) {
		d.answered()
	}
	return &d.future
}

// answered implements the owner of a waiter: source has its answer.
func (d *derived[T, U]) answered() { d.source.run(d.task) }

// Cancelled implements Canceler: future was cancelled, and the wish goes on to its source.
func (d *derived[T, U]) Cancelled() { d.source.Cancel() }

// run is the task of the Runner. future settles in any case, also while a Goexit unwinds the goroutine.
func (d *derived[T, U]) run(callback func(T, error, *answer[U])) {
	d.task = nil // holds the callback and all it captured
	v, err := d.source.Result()
	var out answer[U]
	returned := false
	defer func() {
		if !returned {
			out.err = d.failure(recover(), err)
		}
		if d.future.settle(out.value, out.err) {
			d.source = nil // the only other reader is Cancelled, and Cancel has lost
		}
	}()
	callback(v, err, &out)
	returned = true
}

// failure is the error of a callback that did not return; err is the one it was called with.
func (d *derived[T, U]) failure(recovered any, err error) error {
	failure := ErrGoexit // which leaves nothing to recover
	if recovered != nil {
		p := &PanicError{Value: recovered, Stack: debug.Stack()}
		if handler, ok := d.future.runner.(PanicHandler); ok {
			handler.HandlePanic(p)
		}
		failure = p
	}
	if err == nil {
		return failure // not joined with nothing: a type switch finds it too
	}
	return errors.Join(err, failure)
}
