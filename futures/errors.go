package futures

import (
	"errors"
	"fmt"
)

var (
	// ErrPending is what Result returns while there is no answer. Nothing is wrong; ask later.
	ErrPending = errors.New("futures: pending")

	// ErrGoexit is in the answer of a future from Then or Map whose callback ended its goroutine with
	// runtime.Goexit, as testing.T.FailNow does, instead of returning.
	ErrGoexit = errors.New("futures: callback ended by runtime.Goexit")
)

// PanicError is in the answer of a future from Then or Map whose callback panicked.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine that panicked, as runtime/debug.Stack formats it
}

// Error tells the value; the stack is too long for a message.
func (p *PanicError) Error() string { return fmt.Sprintf("futures: callback panicked: %v", p.Value) }

// Unwrap returns Value if that is an error, else nil.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// PanicHandler is a [Runner] that wants to hear of every panic of a callback it ran, for nobody may be
// looking at the future that carries the PanicError. HandlePanic is called on the goroutine of the
// callback, before that future settles.
type PanicHandler interface {
	HandlePanic(p *PanicError)
}
