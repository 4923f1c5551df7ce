package futures

import (
	"errors"
	"fmt"
)

var (
	// ErrPending is what Result returns while there is no answer. Nothing is wrong; ask later, or wait.
	ErrPending = errors.New("futures: pending")

	// ErrGoexit is in the answer of a future from Then or Map if the callback did not return because it called
	// runtime.Goexit, as testing.T.FailNow does.
	ErrGoexit = errors.New("futures: callback ended by runtime.Goexit")
)

// PanicError is in the answer of a future from Then or Map if the callback panicked.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine that panicked, as runtime/debug.Stack formats it
}

// Error shows the value, and not the stack.
func (p *PanicError) Error() string { return fmt.Sprintf("futures: callback panicked: %v", p.Value) }

// Unwrap returns Value if that is an error, else nil.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// PanicHandler is a [Runner] that is told of every panic of a callback that it ran, because perhaps nobody looks at the
// future with the PanicError. HandlePanic is called on the goroutine of the callback, before that future settles.
//
// PanicHandler is machinery, for code that makes futures.
type PanicHandler interface {
	HandlePanic(p *PanicError)
}
