// Package wheeltus is a locker for github.com/tus/tusd/v2, the server of resumable uploads: of all requests for an upload one at a time
// is served, in all processes that share a Redis and a store.
//
//	locker, err := wheeltus.New(e, wheeltus.Options{})
//	...
//	composer := handler.NewStoreComposer()
//	store.UseIn(composer)
//	locker.UseIn(composer)
//
// A client whose connection broke asks for the upload again while the server may still read from the old connection, for up to tusd's
// NetworkTimeout. The request that has the upload then hears that another one waits ([engine.Hold.Wanted]): it keeps what it has read,
// answers and makes way. In the same process that is at once; between processes it takes up to 250 ms, and up to 2.25 s if the request
// had just begun, besides the time that the store needs. A request for which no other has waited is not interrupted.
package wheeltus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/wheellock/wheellock/engine"
)

// Options say how uploads are locked. The zero value works.
type Options struct {
	// Prefix and the id of an upload are the name of its lock. Default "tus:".
	Prefix string
}

// Locker is a handler.Locker. Any number of handlers may use it.
type Locker struct {
	e      *engine.Engine
	prefix string
}

var _ handler.Locker = (*Locker)(nil)

// New returns a Locker of an engine. The error is [engine.ErrInvalid] if there is no engine.
func New(e *engine.Engine, opts Options) (*Locker, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: wheeltus: a Locker without an engine", engine.ErrInvalid)
	}
	if opts.Prefix == "" {
		opts.Prefix = "tus:"
	}
	return &Locker{e, opts.Prefix}, nil
}

// UseIn makes a composer use the locker.
func (l *Locker) UseIn(composer *handler.StoreComposer) { composer.UseLocker(l) }

// NewLock returns the lock of an upload, for one request. It asks nobody and never fails.
func (l *Locker) NewLock(id string) (handler.Lock, error) {
	return &lock{mutex: l.e.Mutex(l.prefix + id)}, nil
}

// lock is the lock of an upload in one request.
type lock struct {
	mutex *engine.Mutex
	hold  *engine.Hold // nil: not locked
}

// ErrUnavailable answers a request whose lock cannot be taken: Redis is out of reach or refuses, or the engine is closed. The client is not
// told why.
var ErrUnavailable = handler.NewError("ERR_LOCK_UNAVAILABLE", "the upload cannot be locked", http.StatusServiceUnavailable)

// Lock waits for the upload until ctx ends, which tusd does after AcquireLockTimeout. It then has requestUnlock called when another
// request waits for the upload, in any process, and when the lock is lost: tusd reads no further for this request, keeps what it has,
// and answers it with handler.ErrUploadInterrupted.
//
// The error is handler.ErrLockTimeout if ctx has ended, handler.ErrNotFound if the id is too long for a lock's name, else
// [ErrUnavailable]. Each also is what the engine said, such as [engine.ErrHeld] or [engine.ErrRefused]; so compare with errors.Is. tusd
// finds its own errors in others by errors.As, and a handler.Error cannot be compared by == at all.
func (l *lock) Lock(ctx context.Context, requestUnlock func()) error {
	hold, err := l.mutex.Lock(ctx, engine.WithFailFast())
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", handler.ErrLockTimeout, err)
	case errors.Is(err, engine.ErrInvalid):
		return fmt.Errorf("%w: %w", handler.ErrNotFound, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.hold = hold
	go func() { // ends with the hold
		select {
		case <-hold.Wanted():
		case <-hold.Done():
		}
		if !errors.Is(hold.Err(), engine.ErrUnlocked) {
			requestUnlock()
		}
	}()
	return nil
}

// unlockTime is how long an answer waits until the upload is free.
const unlockTime = 100 * time.Millisecond

// Unlock releases the upload. requestUnlock may call it. Afterwards requestUnlock is not called any more, but a call of it that is on its way
// may still come. The error is [engine.ErrLost] if the lock was lost, and one of the engine's others if Redis did not answer, after which the
// engine goes on by itself. tusd does not look at it.
func (l *lock) Unlock() error {
	soon, stop := context.WithTimeout(context.Background(), unlockTime)
	defer stop()
	return l.hold.Unlock(soon)
}
