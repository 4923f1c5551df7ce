//go:build wheellock_stall

package stall

import "sync/atomic"

var hook atomic.Pointer[func(point string)]

// Set has f called at every point, by the goroutine that is there, until the function it returns is called.
func Set(f func(point string)) (undo func()) {
	hook.Store(&f)
	return func() { hook.Store(nil) }
}

// At is a point at which a test may let time pass.
func At(point string) {
	if f := hook.Load(); f != nil {
		(*f)(point)
	}
}
