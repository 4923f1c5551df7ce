package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/futures"
)

// MultiLock is several locks that are taken together, all or nothing, as Redisson's RedissonMultiLock. Its name is the names
// of the members, with commas between. It asks all
// members at once without waiting. If one is taken, it gives the others back, waits for that one, and asks for the
// others again while it has it. So it never holds some members while it waits for others, and two MultiLocks of the
// same members in any order cannot deadlock.
//
// Its Hold ends when the first of its parts is lost; the others are then given back. Members may be of any kind and of
// several engines.
type MultiLock struct {
	handle
	members []Locker // in the order of their keys
}

// lockKey is a key that a lock locks. No two members of a MultiLock may have the same one.
type lockKey struct {
	e   *Engine
	key string
}

// same reports whether two keys are one in Redis, as far as the servers tell: through one engine, or through two on the
// same database of the same server.
func (l lockKey) same(other lockKey) bool {
	if l.key != other.key || l.e == other.e {
		return l == other
	}
	return l.e.database == other.e.database && slices.ContainsFunc(l.e.servers, func(id string) bool { return slices.Contains(other.e.servers, id) })
}

// Multi makes one lock of several. It fails with [ErrInvalid] if there is none, if one is nil, or if two lock the same
// key, because such a MultiLock would wait for itself.
//
// Two engines on one database of one server are recognised by the run_id that the server told each of them at Open.
// They are not recognised if the user may not run INFO, if the server has no run_id because it is not Redis, or if the
// server was restarted or another became the master between the two calls of Open.
func Multi(locks ...Locker) (*MultiLock, error) {
	if len(locks) == 0 {
		return nil, invalid("a MultiLock of no locks")
	}
	seen := make(map[string][]lockKey)
	names := make([]string, len(locks))
	for i, l := range locks {
		if l == nil {
			return nil, invalid("a MultiLock with a nil member")
		}
		keys, err := l.keys()
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if slices.ContainsFunc(seen[k.key], k.same) {
				return nil, invalid("a MultiLock with %s twice", quote(k.key))
			}
			seen[k.key] = append(seen[k.key], k)
		}
		names[i] = l.Name()
	}
	members := slices.Clone(locks)
	slices.SortStableFunc(members, func(a, b Locker) int { return strings.Compare(a.Name(), b.Name()) })
	return &MultiLock{handle{members[0].home(), strings.Join(names, ","), multiIndex}, members}, nil
}

// All makes one lock of the Mutexes of many names, such as all accounts of a transfer. It is [Multi] of e.Mutex of each name,
// and fails as that does. What is asked of many names at once goes to Redis in few script calls, in a cluster one for each
// hash slot, or for each 128 names of one.
func (e *Engine) All(names ...string) (*MultiLock, error) {
	locks := make([]Locker, len(names))
	for i, name := range names {
		locks[i] = e.Mutex(name)
	}
	return Multi(locks...)
}

func (m *MultiLock) keys() (all []lockKey, err error) {
	for _, l := range m.members {
		keys, err := l.keys()
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

// Kind returns [KindMulti].
func (m *MultiLock) Kind() Kind { return KindMulti }

// Lock waits until all members are held. opts apply to every member, [WithWait] to the whole call. Cancellation and
// errors are as with [Mutex.Lock], with the errors of the member that was asked last.
func (m *MultiLock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.block(ctx, false, opts)
}

// TryLock asks for all members once and does not wait. Its error is that of a member that was not granted, as with
// [Mutex.TryLock]; the others are given back.
func (m *MultiLock) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.block(ctx, true, opts)
}

func (m *MultiLock) block(ctx context.Context, once bool, opts []LockOption) (*Hold, error) {
	o := m.observe(opts)
	h, err := m.start(ctx, once, opts).Wait(context.Background()) // ctx ends the call itself
	return m.returned(ctx, &o, h, err)
}

// LockAsync is Lock without blocking. A waiting future costs no goroutine. The end of ctx and the future's Cancel abandon it.
func (m *MultiLock) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return observed(m.observe(opts), m.start(ctx, false, opts), nil)
}

// TryLockAsync is TryLock without blocking. Cancellation is as with LockAsync.
func (m *MultiLock) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return observed(m.observe(opts), m.start(ctx, true, opts), nil)
}

// tooLate returns the error if one member was lost while the others were asked.
func (m *MultiLock) tooLate(h *Hold) error {
	if errors.Is(h.Err(), ErrClosed) {
		return m.failed(ErrClosed)
	}
	return &opError{doing: "lock", name: m.name, err: errTooLate, words: "the lease of a member was over before all were held: ask with a longer lease"}
}

// passing reports whether a member that said err is worth waiting for.
func passing(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrNotSent) || errors.Is(err, ErrUncertain) ||
		errors.Is(err, ErrNotReplicated) || errors.Is(err, errPasses)
}
