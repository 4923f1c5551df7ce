package engine

import (
	"context"
	"fmt"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// Mutex is a reentrant lock of one name, as Redisson's RLock on the same name. Any goroutine may use it, and
// any number of handles on one name are the same lock. Making one costs nothing and cannot fail: the name
// is checked when it is used.
type Mutex struct {
	e     *Engine
	name  string
	kind  gate.Kind
	write bool // of a RWMutex: the writer
}

// Mutex is the lock of a name: 1 to 1,024 bytes, taken as they are. ErrInvalid is a name that Redisson's rules give to a
// key of another lock, of any kind, such as "redisson_lock_token:{a}", the fencing counter of "a".
func (e *Engine) Mutex(name string) *Mutex { return &Mutex{e: e, name: name, kind: gate.MutexKind} }

// FencedMutex is Redisson's RFencedLock: a Mutex whose Hold has a Token, a number that grows with each new
// owner. Send it with every write, and have the store refuse numbers lower than the highest it has seen:
// then a holder that was paused past its lease can do no harm. Re-entry keeps the token.
//
// For names that only this engine's fleet locks, tokens do not repeat even if Redis loses its data, unless its
// clock was set back further than the outage lasted: they are never below the server's time in microseconds.
// A Java service that locks the same name counts on from the last one, and starts at 1 when the counter is lost.
func (e *Engine) FencedMutex(name string) *Mutex {
	return &Mutex{e: e, name: name, kind: gate.FencedKind}
}

// SpinMutex is Redisson's RSpinLock: a Mutex that uses no messages. Its waiters ask again after 1 ms, doubling to
// 128 ms, and its unlock wakes nobody. It suits a cluster where messages go to every node, and short waits. It
// shares its key with Mutex in Redis: do not use both on one name, for the waiters of a Mutex would sleep.
func (e *Engine) SpinMutex(name string) *Mutex { return &Mutex{e: e, name: name, kind: gate.SpinKind} }

// Name is the name as it was given, before NameMapper.
func (m *Mutex) Name() string { return m.name }

// String tells the name.
func (m *Mutex) String() string { return "lock " + quote(m.name) }

// Format is String for every verb. Without it fmt would look into the engine.
func (m *Mutex) Format(f fmt.State, _ rune) { fmt.Fprint(f, m.String()) }

func (m *Mutex) home() *Engine { return m.e }

func (m *Mutex) keys() ([]lockKey, error) {
	key, err := m.e.key(m.name, m.kind)
	if err != nil {
		return nil, m.failed(err)
	}
	return []lockKey{{m.e, key}}, nil
}

// Lock waits for the lock. Waiters of this process are served in the order of arrival, but for those who
// came later with the Owner that holds it. The error of a wait that ctx has ended says besides what was last known: it
// Is ErrHeld, for instance (see ErrWaitTimeout).
func (m *Mutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.block(ctx, false, opts)
}

// TryLock asks Redis once. While this process holds the name or waits for it, the answer is ErrHeld at once; but
// ErrNotSent when Redis cannot be reached and no hold of this process says that the name is held. Without a deadline in
// ctx it waits for the answer for Options.AnswerTimeout, and then fails with ErrUncertain.
func (m *Mutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.block(ctx, true, opts)
}

// LockAsync is Lock without blocking.
func (m *Mutex) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return m.async(ctx, false, opts)
}

// TryLockAsync is TryLock without blocking.
func (m *Mutex) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return m.async(ctx, true, opts)
}

// fill checks a call's options and makes the waiter of its request.
func (m *Mutex) fill(ctx context.Context, try bool, opts []LockOption, w *gate.Waiter) error {
	d, err := m.e.opts.read(opts, try)
	if err != nil {
		return m.failed(err)
	}
	w.Owner, w.Lease, w.Watch, w.Try, w.Write = d.owner, d.lease, !d.fixed, try, m.write
	w.Until = m.e.until(ctx, try, d.wait)
	return nil
}

func (m *Mutex) operation() operation {
	return operation{e: m.e, name: m.name, doing: "lock", kind: m.kind}
}

func (m *Mutex) failed(err error) error { return &opError{doing: "lock", name: m.name, err: err} }

// block asks and waits for the answer.
func (m *Mutex) block(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	c := m.e.calls.get()
	if err := m.fill(ctx, try, opts, &c.waiter); err != nil {
		m.e.calls.put(c)
		return nil, err
	}
	h := newHold(m.e, m.name)
	c.waiter.Hold = &h.core
	t := m.operation()
	if err := t.block(ctx, c); err != nil {
		return nil, err
	}
	return h, nil
}

// async asks and leaves the answer to a future. Its hold is made when it is granted.
func (m *Mutex) async(ctx context.Context, try bool, opts []LockOption) *futures.Future[*Hold] {
	r := &request[*Hold]{operation: m.operation()}
	if err := m.fill(ctx, try, opts, &r.waiter); err != nil {
		return futures.Settled[*Hold](&m.e.callbacks, nil, err)
	}
	return r.start(ctx)
}
