// Package wheelcert lets any storage of github.com/caddyserver/certmagic lock by Redis, so that of several processes that share the
// storage, such as several Caddys, one obtains or renews a certificate and the others use it:
//
//	storage, err := wheelcert.New(&certmagic.FileStorage{Path: "/mnt/certificates"}, e, wheelcert.Options{})
//	...
//	certmagic.Default.Storage = storage
//
// Certificates stay in the storage; only Lock, TryLock, Unlock and RenewLockLease are this package's. A lock is renewed for as long as
// its process lives, also through days of attempts at a certificate, and is free one lease ([engine.Options].Lease, 30 s) after the
// process died.
package wheelcert

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/wheellock/wheellock/engine"
)

// Options say how names are locked. The zero value works.
type Options struct {
	// Prefix and the name that certmagic locks are the name of the lock. Processes that share a storage need the same, others need
	// different ones. Default "certmagic:".
	Prefix string
}

// Storage is a certmagic.Storage that locks by an engine, and leaves the rest to another storage.
type Storage struct {
	certmagic.Storage
	e      *engine.Engine
	prefix string

	mu     sync.Mutex // held for a look or a change, never while blocking; guards locked
	locked map[string]*tenancy
}

var (
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// tenancy is the time of a name between Lock and Unlock. certmagic unlocks and renews by the name alone: while somebody of this process
// has not unlocked a name, nobody else of it gets the name, also if the lock was lost. Otherwise the late Unlock would release the lock
// of another.
type tenancy struct {
	hold     *engine.Hold  // nil until it is granted; guarded by Storage.mu
	renewing chan struct{} // full while RenewLockLease asks for a lock that was lost
	ended    chan struct{} // closed by Unlock
}

// New returns a storage that keeps its data in storage, and locks by an engine, which should have no MaxHold: it would end a lock while a
// certificate is being ordered. The error is [engine.ErrInvalid] if one of them is missing.
func New(storage certmagic.Storage, e *engine.Engine, opts Options) (*Storage, error) {
	switch {
	case storage == nil:
		return nil, fmt.Errorf("%w: wheelcert: no storage for the certificates", engine.ErrInvalid)
	case e == nil:
		return nil, fmt.Errorf("%w: wheelcert: a Storage without an engine", engine.ErrInvalid)
	}
	if opts.Prefix == "" {
		opts.Prefix = "certmagic:"
	}
	return &Storage{Storage: storage, e: e, prefix: opts.Prefix, locked: make(map[string]*tenancy)}, nil
}

// Lock waits until the lock of name is held or ctx ends, also while Redis cannot be reached. The errors are those of
// [engine.Mutex.Lock].
func (s *Storage) Lock(ctx context.Context, name string) error {
	t, before := s.enter(name)
	for before != nil {
		select {
		case <-before.ended:
			t, before = s.enter(name)
		case <-ctx.Done():
			return ended(ctx, "lock", name)
		}
	}
	hold, err := s.mutex(name).Lock(ctx)
	return s.keep(name, t, hold, err)
}

// TryLock takes the lock of name if it is free, and reports whether it did. The errors are those of [engine.Mutex.TryLock] but for
// ErrHeld.
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	t, before := s.enter(name)
	if before != nil {
		return false, nil
	}
	hold, err := s.mutex(name).TryLock(ctx)
	if err = s.keep(name, t, hold, err); errors.Is(err, engine.ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock of name, also if it was lost meanwhile, and also if ctx has ended: the wait for the answer is bounded by
// [engine.Options].AnswerTimeout. The errors are those of [engine.Hold.Unlock] but for ErrLost, of which the engine's log has a record;
// after them the engine goes on by itself. A name that is not locked here is [engine.ErrUnlocked].
func (s *Storage) Unlock(ctx context.Context, name string) error {
	hold := s.leave(name)
	if hold == nil {
		return notLocked(name)
	}
	err := hold.Unlock(context.WithoutCancel(ctx))
	if errors.Is(err, engine.ErrLost) {
		return nil
	}
	return err
}

// RenewLockLease makes sure that the lock of name is held here, and takes it again if it was lost and is free. It is the engine that
// renews, so the duration is not needed. The error is [engine.ErrHeld] if another process has it by now: certmagic then gives this attempt
// up, and at the next one finds what the other has obtained. A name that is not locked here is [engine.ErrUnlocked].
func (s *Storage) RenewLockLease(ctx context.Context, name string, _ time.Duration) error {
	t, hold := s.current(name)
	if hold != nil && hold.Err() != nil {
		select { // one at a time: a second one would find the lock that the first has just taken
		case t.renewing <- struct{}{}:
			defer func() { <-t.renewing }()
		case <-ctx.Done():
			return ended(ctx, "renew", name)
		}
		now, standing := s.current(name)
		if now != t { // unlocked meanwhile
			return notLocked(name)
		}
		hold = standing
	}
	switch {
	case hold == nil:
		return notLocked(name)
	case hold.Err() == nil:
		return nil
	}
	hold, err := s.mutex(name).TryLock(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locked[name] != t { // unlocked meanwhile
		hold.UnlockAsync()
		return notLocked(name)
	}
	t.hold = hold
	return nil
}

// String names the storage, for certmagic's log.
func (s *Storage) String() string { return fmt.Sprintf("%v, locked by Redis", s.Storage) }

func (s *Storage) mutex(name string) *engine.Mutex { return s.e.Mutex(s.prefix + name) }

func notLocked(name string) error {
	return fmt.Errorf("%w: wheelcert: %q is not locked in this process", engine.ErrUnlocked, name)
}

// ended is the error of a call whose context has ended: it Is both its Err and its Cause, as the engine's.
func ended(ctx context.Context, doing, name string) error {
	err := fmt.Errorf("wheelcert: %s %q: %w", doing, name, context.Cause(ctx))
	if !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return err
}

// enter begins a tenancy of name, or returns the one that has to end before.
func (s *Storage) enter(name string) (own, before *tenancy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before = s.locked[name]; before != nil {
		return nil, before
	}
	own = &tenancy{renewing: make(chan struct{}, 1), ended: make(chan struct{})}
	s.locked[name] = own
	return own, nil
}

// keep keeps the hold of a tenancy, or ends the tenancy if there is none, and returns err.
func (s *Storage) keep(name string, t *tenancy, hold *engine.Hold, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.endLocked(name, t)
		return err
	}
	t.hold = hold
	return nil
}

// current returns the tenancy of name; nil: there is none, or it has no hold yet.
func (s *Storage) current(name string) (*tenancy, *engine.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.locked[name]
	if t == nil {
		return nil, nil
	}
	return t, t.hold
}

// leave ends the tenancy of name and returns its hold; nil: there is none, or it has no hold yet. It does both at once, or the hold that
// RenewLockLease puts in the place of a lost one in between would be kept for ever.
func (s *Storage) leave(name string) *engine.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.locked[name]
	if t == nil || t.hold == nil {
		return nil
	}
	s.endLocked(name, t)
	return t.hold
}

func (s *Storage) endLocked(name string, t *tenancy) {
	delete(s.locked, name)
	close(t.ended)
}
