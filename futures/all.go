package futures

import (
	"errors"
	"sync/atomic"
)

// All waits for every one of fs and returns a future for their values, in order. If some of fs fail, the future
// nevertheless has all values, and their errors joined in order. Cancel on it cancels all of fs. All of nothing is an
// empty slice at once.
//
// The goroutines that settle fs do the counting: All needs no goroutine and no task of the Runner. The Runner of the
// first of fs runs the callbacks of the new future.
func All[T any](fs ...*Future[T]) *Future[[]T] {
	if len(fs) == 0 {
		return Settled(nil, []T{}, nil)
	}
	a := &all[T]{values: make([]T, len(fs))}
	a.future.runner, a.future.canceler = fs[0].runner, a
	branches := make([]branch[T], len(fs))
	a.branches = branches
	a.missing.Store(int64(len(fs)))
	for i, f := range fs {
		b := &branches[i]
		b.all, b.source, b.index = a, f, i
		b.waiter.owner = b
	}
	for i := range branches {
		b := &branches[i]
		if !b.source.join(&b.waiter) {
			b.answered()
		}
	}
	return &a.future
}

type all[T any] struct {
	future   Future[[]T]
	missing  atomic.Int64 // branches without an answer; the one that takes it to zero settles
	failed   atomic.Bool  // some branch has an error
	values   []T          // each element belongs to its branch until missing is zero
	branches []branch[T]  // cleared by settle once no Cancelled can come, to let go of the sources
}

// branch is the waiter of an all in the queue of one of its sources.
type branch[T any] struct {
	waiter waiter
	all    *all[T]
	source *Future[T]
	index  int
}

// answered implements owner: source has its answer.
func (b *branch[T]) answered() {
	a := b.all
	v, err := b.source.Result()
	a.values[b.index] = v
	if err != nil {
		a.failed.Store(true)
	}
	if a.missing.Add(-1) == 0 {
		a.settle()
	}
}

func (a *all[T]) settle() {
	var errs []error
	if a.failed.Load() {
		for i := range a.branches {
			_, err := a.branches[i].source.Result()
			errs = append(errs, err) // Join leaves out the nil ones
		}
	}
	if a.future.settle(a.values, errors.Join(errs...)) {
		a.branches = nil
	}
}

// Cancelled implements Canceler: future was cancelled, and the wish goes on to every source.
func (a *all[T]) Cancelled() {
	for i := range a.branches {
		a.branches[i].source.Cancel()
	}
}
