//go:build wheellock_stall

package stall

import (
	"sync/atomic"
	"time"
)

var (
	hook    atomic.Pointer[func(point, engine string)]
	watches atomic.Pointer[func() Watch]
)

// Set has f called at every point, by the goroutine that is there, until the function it returns is called.
func Set(f func(point, engine string)) (undo func()) {
	hook.Store(&f)
	return func() { hook.Store(nil) }
}

// SetWatch has f make the Watch of every engine, until the function it returns is called.
func SetWatch(f func() Watch) (undo func()) {
	watches.Store(&f)
	return func() { watches.Store(nil) }
}

// At is a point at which a test may let time pass, in the engine of that UUID.
func At(point, engine string) {
	if f := hook.Load(); f != nil {
		(*f)(point, engine)
	}
}

// Watch is what a test says of the monotonic clock of an engine. Any goroutine may call its functions.
type Watch struct {
	Count     func(since time.Duration) time.Duration // what the clock has counted when truly so much time has passed
	Suspended func() time.Duration                    // how much of the time it has not counted
}

// NewWatch makes that of the next engine.
func NewWatch() Watch {
	if f := watches.Load(); f != nil {
		return (*f)()
	}
	return Watch{}
}

// Counted is what the engine's clock has counted when truly so much time has passed.
func (w Watch) Counted(since time.Duration) time.Duration {
	if w.Count == nil {
		return since
	}
	return w.Count(since)
}

// Gauge says how much of the time was not counted, as that in which the machine was suspended; nil: the system knows.
func (w Watch) Gauge() func() time.Duration { return w.Suspended }
