package futures

import (
	"context"
	"sync"
	"sync/atomic"
)

// Future is an answer of type T, or an error, that may not be there yet. It comes from an asynchronous call,
// [Future.Then], [Map] or [All]. Any number of goroutines may call its methods, and any number may wait for it.
type Future[T any] struct {
	// Written once, before the future is shared; only the goroutine that moved state from pending clears canceler.
	runner   Runner
	canceler Canceler

	state atomic.Uint32 // pending, claimed, answered, drained; never back

	// Written by the goroutine that moved state to claimed; read by all from answered on.
	value T
	err   error

	mu    sync.Mutex    // guards the rest and the step to drained; held for a few instructions, never while calling out
	queue waiters       // empty for good once drained
	done  chan struct{} // nil until Done is called on a pending future
}

const (
	pending  = iota // zero value: no answer
	claimed         // Settle or Cancel has won and is about to write the answer
	answered        // the answer is readable; the queue is being served
	drained         // the queue is served; a new waiter serves itself
)

// closed is what Done returns if Done was not called before the answer came.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Settled returns a future that already has its answer. r runs its callbacks, as in [Promise.Init].
//
// Settled is machinery, for code that makes futures.
func Settled[T any](r Runner, v T, err error) *Future[T] {
	f := &Future[T]{runner: r, value: v, err: err}
	f.state.Store(drained)
	return f
}

// Result returns the answer, or [ErrPending] if there is none yet. It never blocks.
func (f *Future[T]) Result() (T, error) {
	if !f.answered() {
		var zero T
		return zero, ErrPending
	}
	return f.value, f.err
}

// Done returns a channel that is closed when the answer is there, always the same one. Done on a pending future makes
// one channel; [Future.Wait] costs less.
func (f *Future[T]) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done == nil {
		if f.answered() {
			return closed
		}
		f.done = make(chan struct{})
	}
	return f.done
}

// Cancel settles a pending future with [context.Canceled]. It returns true if this call did so. It returns false, and
// changes nothing, if the answer came first. After true, what the future was waiting for is undone when it comes: a
// lock, for instance, is released. Cancel never blocks.
//
// Cancel on a future from Then, Map or All settles that future at once. Then it cancels the futures that it was made
// from, and with them everything else that depends on those. Callbacks of a cancelled future run with context.Canceled.
func (f *Future[T]) Cancel() bool {
	if !f.state.CompareAndSwap(pending, claimed) {
		return false
	}
	canceler := f.canceler
	var zero T
	f.complete(zero, context.Canceled)
	if canceler != nil {
		canceler.Cancelled()
	}
	return true
}

func (f *Future[T]) settle(v T, err error) bool {
	if !f.state.CompareAndSwap(pending, claimed) {
		return false
	}
	f.complete(v, err)
	return true
}

// complete makes the answer readable and wakes the waiters in the queue. Only the goroutine that moved state to claimed may call it.
func (f *Future[T]) complete(v T, err error) {
	f.value, f.err = v, err
	f.canceler = nil // it will not be called any more; it need not stay in memory as long as the answer
	f.state.Store(answered)
	f.drain()
}

// drain serves the queue until it is empty. A waiter that arrives meanwhile still joins the queue and is served here. If it
// served itself, it could overtake a callback that was registered before its own. So the loop ends when no waiter joins while
// the last one is served, and does no more work than if all had come before the answer.
func (f *Future[T]) drain() {
	f.mu.Lock()
	if f.done != nil {
		close(f.done)
	}
	for w := f.queue.pop(); w != nil; w = f.queue.pop() {
		f.mu.Unlock()
		w.owner.answered()
		f.mu.Lock()
	}
	f.state.Store(drained)
	f.mu.Unlock()
}

// join puts w into the queue, from which it will be popped and served exactly once. It returns false when
// the queue is closed: the answer is there and the caller serves itself.
func (f *Future[T]) join(w *waiter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Load() == drained {
		return false
	}
	f.queue.push(w)
	return true
}

// leave takes w out of the queue. It returns false when w is popped already, and so is or will be served.
func (f *Future[T]) leave(w *waiter) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queue.remove(w)
}

func (f *Future[T]) answered() bool { return f.state.Load() >= answered }

func (f *Future[T]) run(t Task) {
	if f.runner == nil {
		go t.Run()
		return
	}
	f.runner.Go(t)
}
