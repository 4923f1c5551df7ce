package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/futures"
)

// MultiLock is several locks that are taken together, all or nothing, as Redisson's RedissonMultiLock. Its name is the names
// of the members, with commas between. It asks all
// members at once without waiting. If one is taken, it gives the others back, waits for that one, and asks for the
// others again while it has it. So it never holds some members while it waits for others, and two MultiLocks of the
// same members in any order cannot deadlock.
//
// Its Hold ends when the first of its parts is lost; the others are then given back. Members may be of any kind and of
// several engines. Waiting costs a goroutine.
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
func (k lockKey) same(other lockKey) bool {
	if k.key != other.key || k.e == other.e {
		return k == other
	}
	return k.e.database == other.e.database && slices.ContainsFunc(k.e.servers, func(id string) bool { return slices.Contains(other.e.servers, id) })
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

func (m *MultiLock) home() *Engine { return m.e }

// Lock waits until all members are held. opts apply to every member, [WithWait] to the whole call. Cancellation and
// errors are as with [Mutex.Lock], with the errors of the member that was asked last.
func (m *MultiLock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	o := m.observe(opts)
	h, err := m.lock(ctx, opts)
	o.done(h, err)
	return h, err
}

func (m *MultiLock) lock(ctx context.Context, opts []LockOption) (*Hold, error) {
	d, err := m.home().opts.read(opts, false, m.kind)
	if err != nil {
		return nil, m.failed(err)
	}
	end := until(d.wait)
	asking := ctx // also ends with the wait: a silent server must not prolong it
	if !end.IsZero() {
		var stop context.CancelFunc
		asking, stop = context.WithDeadline(ctx, end)
		defer stop()
	}
	opts = append(withoutWait(opts), asPart)
	first, held := -1, (*Hold)(nil) // the member that this call has waited for
	last := ErrUnavailable          // the last answer of any member
	for try := 0; ; try++ {
		holds, refused, err := m.askAll(asking, first, held, opts)
		if err == nil {
			h := m.compose(len(holds), holds)
			if h.Err() == nil {
				return h, nil
			}
			giveBack(holds)
			first, held = -1, nil
			if err := m.pause(ctx, end, try, m.tooLate(h)); err != nil {
				return nil, err
			}
			continue
		}
		giveBack(holds)
		if ctx.Err() != nil { // err may come from a member that was not asked any more
			return nil, m.failed(unmetAfter(endedBy(ctx), last))
		}
		if asking.Err() != nil {
			if passing(err) {
				last = err
			}
			return nil, m.failed(unmetAfter(ErrWaitTimeout, last))
		}
		last = err
		if err := m.pause(ctx, end, try, err); err != nil {
			return nil, err
		}
		first = refused
		if held, err = m.members[first].Lock(ctx, withWaitUntil(opts, end)...); err != nil {
			return nil, err
		}
	}
}

// TryLock asks for all members once and does not wait. Its error is that of a member that was not granted, as with
// [Mutex.TryLock]; the others are given back.
func (m *MultiLock) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	o := m.observe(opts)
	h, err := m.tryLock(ctx, opts)
	o.done(h, err)
	return h, err
}

func (m *MultiLock) tryLock(ctx context.Context, opts []LockOption) (*Hold, error) {
	if _, err := m.home().opts.read(opts, true, m.kind); err != nil {
		return nil, m.failed(err)
	}
	holds, _, err := m.askAll(ctx, -1, nil, append(slices.Clip(opts), asPart))
	if err != nil {
		giveBack(holds)
		return nil, err
	}
	h := m.compose(len(holds), holds)
	if h.Err() != nil {
		giveBack(holds)
		return nil, m.tooLate(h)
	}
	return h, nil
}

// tooLate returns the error if one member was lost while the others were asked.
func (m *MultiLock) tooLate(h *Hold) error {
	if errors.Is(h.Err(), ErrClosed) {
		return m.failed(ErrClosed)
	}
	return &opError{doing: "lock", name: m.name, err: errTooLate, words: "the lease of a member was over before all were held: ask with a longer lease"}
}

// pause waits between an attempt that failed with last and the next. An error means that there is no next attempt: last does
// not pass, ctx has ended, or the wait is over.
func (m *MultiLock) pause(ctx context.Context, end time.Time, try int, last error) error {
	if !passing(last) {
		return last
	}
	if !end.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, end, ErrWaitTimeout)
		defer stop()
	}
	if err := backOff(ctx, try, last); err != nil && context.Cause(ctx) != ErrWaitTimeout {
		return m.failed(unmetAfter(err, last))
	}
	if !end.IsZero() && !time.Now().Before(end) {
		return m.failed(unmetAfter(ErrWaitTimeout, last))
	}
	return nil
}

// LockAsync is Lock on a goroutine of its own. The end of ctx and the future's Cancel abandon it.
func (m *MultiLock) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return inBackground(ctx, m.home(), func(ctx context.Context) (*Hold, error) { return m.Lock(ctx, opts...) })
}

// TryLockAsync is TryLock on a goroutine of its own. Cancellation is as with LockAsync.
func (m *MultiLock) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return inBackground(ctx, m.home(), func(ctx context.Context) (*Hold, error) { return m.TryLock(ctx, opts...) })
}

// askAll asks all members but the first, which is held already if there is one, and waits for every answer.
// On an error the holds are those that were granted, and refused is the first member that was not.
func (m *MultiLock) askAll(ctx context.Context, first int, held *Hold, opts []LockOption) (holds []*Hold, refused int, err error) {
	answers := make([]*futures.Future[*Hold], len(m.members))
	for i, l := range m.members {
		if i != first {
			answers[i] = l.TryLockAsync(ctx, opts...)
		}
	}
	refused = -1
	for i, answer := range answers {
		h, failed := held, error(nil)
		if answer != nil {
			h, failed = answer.Wait(context.Background()) // ctx ends the request itself
		}
		if failed == nil {
			holds = append(holds, h)
		} else if refused < 0 || !passing(failed) && passing(err) {
			refused, err = i, failed
		}
	}
	return holds, refused, err
}

// passing reports whether a member that said err is worth waiting for.
func passing(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrNotSent) || errors.Is(err, ErrUncertain) ||
		errors.Is(err, ErrNotReplicated) || errors.Is(err, errPasses)
}

func (m *MultiLock) failed(err error) error { return &opError{doing: "lock", name: m.name, err: err} }

func withoutWait(opts []LockOption) []LockOption {
	return slices.DeleteFunc(slices.Clone(opts), func(o LockOption) bool { return o.which == waitOption })
}

// withWaitUntil adds a wait that ends at a time; the zero time means none. After that time a minimal wait is left.
func withWaitUntil(opts []LockOption, end time.Time) []LockOption {
	if end.IsZero() {
		return opts
	}
	return append(slices.Clone(opts), WithWait(max(time.Until(end), time.Nanosecond)))
}
