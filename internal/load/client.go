package load

import (
	"context"
	"strconv"

	"github.com/wheellock/wheellock/engine"
)

// Contest is what a comparison of libraries asks for besides a Plan. Its callers keep to one name each: the i-th to name i, and so round, so
// that all libraries have the same contention. Callers that still wait when the measured time ends count with what they have waited.
type Contest struct {
	Fresh     bool // each call has a name that no other has; there are as many names as callers, and they stand for these
	Each      bool // each caller has a client of its own, as it would in a process of its own
	Alternate bool // two callers give one name to and fro (alternate.go)

	// Open opens a client of another library; nil: callers use engines.
	Open func() (Library, error)
}

// Library is a lock library other than the engine's. Any goroutine may use it.
type Library interface {
	// Lock waits for a lock, until ctx ends or for as long as it is set up to.
	Lock(ctx context.Context, name string) (Grant, error)
	Close()
}

// client is what callers get their locks from: engines, or another library.
type client struct {
	engines   []*engine.Engine // one, or those of a quorum
	library   Library
	resources []resource // one for each name
	readers   []resource // of read-write locks; then resources are the writers
}

func (c *client) close() {
	for _, e := range c.engines {
		e.Close()
	}
	if c.library != nil {
		c.library.Close()
	}
}

// foreign is a lock of another library.
type foreign struct {
	library Library
	name    string
}

func (f foreign) get(ctx context.Context, _ []engine.LockOption) (Grant, error) {
	return f.library.Lock(ctx, f.name)
}

func (f foreign) getAsync(ctx context.Context, opts []engine.LockOption, ch *chain) {
	go func() { ch.toEnter(f.get(ctx, opts)) }()
}

// fresh is the lock of a caller whose every call has a name of its own. It makes the handle where it locks, as users do: a handle that a
// function returns would be an allocation.
type fresh struct {
	*client
	simple bool // else it is a Mutex
	prefix string
	call   uint64 // begins with a caller's own number, of 16 digits
	name   string // of this call
}

// next makes the next name: the prefix and 16 hexadecimal digits.
func (f *fresh) next() *fresh {
	f.call++
	var room [64]byte // the string is the only allocation
	f.name = string(strconv.AppendUint(append(room[:0], f.prefix...), f.call, 16))
	return f
}

func (f *fresh) get(ctx context.Context, opts []engine.LockOption) (Grant, error) {
	switch {
	case f.library != nil:
		return f.library.Lock(ctx, f.name)
	case f.simple:
		return held(f.engines[0].SimpleMutex(f.name).Lock(ctx, opts...))
	default:
		return held(f.engines[0].Mutex(f.name).Lock(ctx, opts...))
	}
}

func (f *fresh) getAsync(ctx context.Context, opts []engine.LockOption, ch *chain) {
	f.engines[0].Mutex(f.name).LockAsync(ctx, opts...).Then(ch.onHold)
}
