package futures

import (
	"errors"
	"runtime/debug"
)

// Then calls fn once with the answer. The Runner calls it, never the goroutine that settles f, so fn may block, cancel,
// wait and register more callbacks. Callbacks of one future are passed to the Runner in the order in which they were
// registered.
//
// The new future has the same answer and settles after fn has returned. If fn panicked, its error is a [*PanicError];
// if fn called runtime.Goexit, it is [ErrGoexit]; either is joined with the error of f if there was one. The value
// stays that of f. Cancel on the new future cancels f; fn is called all the same, with the answer that f then has.
func (f *Future[T]) Then(fn func(T, error)) *Future[T] {
	d := &then[T]{fn: fn}
	d.join(f, d)
	return &d.future
}

// then is a future from Then.
type then[T any] struct {
	derived[T, T]
	fn func(T, error)
}

// answered implements owner.
func (t *then[T]) answered() { t.source.run(t) }

// Run implements Task.
func (t *then[T]) Run() {
	fn := t.fn
	t.fn = nil // it may have captured much
	v, err := t.source.Result()
	t.run(v, err, func() (T, error) { fn(v, err); return v, err })
}

// Map calls fn once with the answer of f, as [Future.Then] does, and returns a future for fn's results. If fn does not
// return, the value is zero and the error is as with Then. Cancel on the new future cancels f; fn is called all the
// same, and its result is dropped.
func Map[T, U any](f *Future[T], fn func(T, error) (U, error)) *Future[U] {
	d := &mapped[T, U]{fn: fn}
	d.join(f, d)
	return &d.future
}

// mapped is a future from Map.
type mapped[T, U any] struct {
	derived[T, U]
	fn func(T, error) (U, error)
}

// answered implements owner.
func (m *mapped[T, U]) answered() { m.source.run(m) }

// Run implements Task.
func (m *mapped[T, U]) Run() {
	fn := m.fn
	m.fn = nil // it may have captured much
	v, err := m.source.Result()
	var zero U
	m.run(zero, err, func() (U, error) { return fn(v, err) })
}

// derived is a future made from another one by a callback. It costs one allocation with all that it needs.
type derived[T, U any] struct {
	future Future[U]
	waiter waiter     // in the queue of source
	source *Future[T] // cleared by run once no Cancelled can come: a long chain must not keep its beginning
}

// join tells whole, which d is a part of, when source has its answer.
func (d *derived[T, U]) join(source *Future[T], whole owner) {
	d.source = source
	d.future.runner, d.future.canceler = source.runner, d
	d.waiter.owner = whole
	if !source.join(&d.waiter) {
		whole.answered()
	}
}

// Cancelled implements Canceler: future was cancelled, and the wish goes on to its source.
func (d *derived[T, U]) Cancelled() { d.source.Cancel() }

// run calls back and settles future with what comes of it, in any case, also while a Goexit unwinds the goroutine:
// then with value, and the failure joined with err, the error of source.
func (d *derived[T, U]) run(value U, err error, callback func() (U, error)) {
	returned := false
	result := error(nil)
	defer func() {
		if !returned {
			result = d.failure(recover(), err)
		}
		if d.future.settle(value, result) {
			d.source = nil // the only other reader is Cancelled, and Cancel has lost
		}
	}()
	value, result = callback()
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
