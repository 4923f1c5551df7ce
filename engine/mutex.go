package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// Mutex is a reentrant lock of one name, as Redisson's RLock on the same name. Any goroutine may use it, and
// any number of handles on one name are the same lock. Making one costs nothing and cannot fail: the name
// is checked when it is used.
type Mutex struct {
	e    *Engine
	name string
	kind gate.Kind
}

// Mutex is the lock of a name: 1 to 1,024 bytes, taken as they are.
func (e *Engine) Mutex(name string) *Mutex { return &Mutex{e: e, name: name, kind: gate.MutexKind} }

// Name is the name as it was given, before NameMapper.
func (m *Mutex) Name() string { return m.name }

func (m *Mutex) sealed() {}

// Lock waits for the lock. Waiters of this process are served in the order of arrival, but for those who
// came later with the Owner that holds it.
func (m *Mutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.wait(ctx, false, opts)
}

// TryLock asks Redis once. While this process holds the name or waits for it, the answer is ErrHeld at once.
func (m *Mutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.wait(ctx, true, opts)
}

// LockAsync is Lock without blocking.
func (m *Mutex) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return m.async(ctx, false, opts)
}

// TryLockAsync is TryLock without blocking.
func (m *Mutex) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return m.async(ctx, true, opts)
}

func (m *Mutex) wait(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	r, err := m.request(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	r.promise.Init(&m.e.callbacks, nil)
	if err := r.ask(m); err != nil {
		return nil, err
	}
	return r.wait(ctx)
}

func (m *Mutex) async(ctx context.Context, try bool, opts []LockOption) *futures.Future[*Hold] {
	r, err := m.request(ctx, try, opts)
	if err != nil {
		return futures.Settled[*Hold](&m.e.callbacks, nil, err)
	}
	r.promise.Init(&m.e.callbacks, r)
	m.e.contexts.watch(ctx, r)
	if err := r.ask(m); err != nil {
		m.e.contexts.forget(r)
		r.promise.Settle(nil, err)
	}
	return r.promise.Future()
}
