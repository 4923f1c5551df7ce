package engine

import (
	"context"
	"encoding/hex"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/scripts"
)

// PermitSemaphore is a number of permits that have holders, as Redisson's RPermitExpirableSemaphore on the same name.
// Each permit that is taken has an id and a lease, and comes back by itself if nobody renews it. Any goroutine may use
// it. Any number of handles on one name are the same semaphore.
//
// A semaphore has no permits until it is given some. A [Limit] takes permits of a PermitSemaphore and says with each call how many there are.
//
// Acquire returns a [Hold], which the watchdog renews like any other unless [WithLease] fixes its end; its holder is
// told of a loss. Leases count by the server's clock. Redisson counts them by the clock of the Java process: one that
// is ahead by some seconds takes permits for so much longer, and if it reclaims expired permits, it ends those of
// engines so much too early; the holder is told by the next renewal. Keep the clocks of Java services right, or their
// leases long.
type PermitSemaphore struct{ handle }

// PermitSemaphore returns the semaphore of a name. Names are as in [Engine.Mutex]. By Redisson's rule "a" and "{a}"
// keep their permits under one key, so while one of them is in use the other is [ErrInvalid]. Do not use one in this
// process and the other in another.
func (e *Engine) PermitSemaphore(name string) *PermitSemaphore {
	return &PermitSemaphore{handle{e, name, permitsIndex}}
}

// maxPermits is how many permits one Hold may have: all of them are renewed by one script.
const maxPermits = 1000

// Acquire waits until it has n permits, from 1 to 1,000, all at once in one Hold. Waiters of this process are served in
// the order of arrival. Permits cannot be re-entered: [WithOwner] is [ErrInvalid]. Leases, cancellation and errors are
// as with [Mutex.Lock]. The turns of processes, also of callers that want several permits, are as with [Semaphore.Acquire].
func (p *PermitSemaphore) Acquire(ctx context.Context, n int, opts ...LockOption) (*Hold, error) {
	return p.take(ctx, "acquire", int64(n), false, opts)
}

// TryAcquire asks once and does not wait. If fewer than n permits are free, callers of this process wait, or it is the
// turn of another process, the error Is [ErrHeld]; the TTL of its [HeldError] says when the next permit ends if nobody renews it. If ctx has no deadline,
// it waits for the answer for [Options].AnswerTimeout and then fails with [ErrUncertain]. Other errors are as with
// [Mutex.TryLock].
func (p *PermitSemaphore) TryAcquire(ctx context.Context, n int, opts ...LockOption) (*Hold, error) {
	return p.take(ctx, "acquire", int64(n), true, opts)
}

// AcquireAsync is Acquire without blocking. The end of ctx and the future's Cancel abandon it; permits that come later
// go to the next waiter or back.
func (p *PermitSemaphore) AcquireAsync(ctx context.Context, n int, opts ...LockOption) *futures.Future[*Hold] {
	return takeAsync[*Hold](ctx, &p.handle, "acquire", int64(n), false, opts)
}

// TryAcquireAsync is TryAcquire without blocking. Cancellation is as with AcquireAsync.
func (p *PermitSemaphore) TryAcquireAsync(ctx context.Context, n int, opts ...LockOption) *futures.Future[*Hold] {
	return takeAsync[*Hold](ctx, &p.handle, "acquire", int64(n), true, opts)
}

// PermitIDs returns the ids of the hold's permits in Redis, 32 hex digits each, as Redisson's; nil for the hold of a
// lock. Ask for those of a [Limit] before Unlock: if nobody has, Unlock may pass the permits on, with their ids.
func (h *Hold) PermitIDs() []string {
	h = h.inner()
	if h.permits == 0 {
		return nil
	}
	h.listeners().told.Store(true)
	ids := make([]string, h.permits)
	for i := range ids {
		ids[i] = hex.EncodeToString(scripts.PermitID(h.e.uuid, h.core.Tenure+uint64(i)))
	}
	return ids
}

// toldIDs reports whether PermitIDs was called.
func (h *Hold) toldIDs() bool {
	l := h.endings.Load()
	return l != nil && l.told.Load()
}

// Told implements gate.Teller.
func (h *held) Told() bool { return (*Hold)(h).toldIDs() }

// Release frees permits by their ids, also those of other holders: all of them, or none and [ErrLost] if one is not held any
// more. An id that is given twice counts once. The id of a living Hold of this engine counts as held: once the other ids
// are freed, that Hold ends with [ErrUnlocked] and all its permits are freed, with ErrLost if Redis had lost them before;
// prefer [Hold.Unlock]. ctx, [Options].AnswerTimeout and other errors are as with [Semaphore.Release].
func (p *PermitSemaphore) Release(ctx context.Context, ids ...string) error {
	t := p.operation("release")
	if len(ids) == 0 || len(ids) > maxPermits {
		return t.failed(invalid("%d permit ids: must be from 1 to %d", len(ids), maxPermits))
	}
	ch := gate.Change{Op: gate.PermitFree, Numbers: make([]uint64, len(ids))}
	var all []byte
	for i, id := range ids {
		raw, err := hex.DecodeString(id)
		if err != nil || len(raw) != 16 {
			return t.failed(invalid("a permit id %s: must be 32 hex digits", quote(id)))
		}
		all = append(all, raw...)
		ch.Numbers[i] = scripts.PermitNumber(p.e.uuid, raw)
	}
	ch.Args = gate.PermitFreeArgs{IDs: scripts.PermitIDs(all)}.Args()
	_, err := t.change(ctx, ch)
	return err
}

// TrySetPermits gives the semaphore n permits, from 0 to 2^50, if it was never given any. False means that it was, and that
// nothing changed. Like AddPermits it fails with [ErrNotSent] while the link is down; other errors are as with
// [Semaphore.TrySetPermits].
func (p *PermitSemaphore) TrySetPermits(ctx context.Context, n int64) (bool, error) {
	t := p.operation("set permits")
	return t.setCount(ctx, gate.SetPermits, "permits", gate.CountArgs{N: n})
}

// SetPermits makes the number of permits n, from 0 to 2^50, those that are held among them. The number of free permits
// may then be below 0 until enough are released: no hold ends. Errors are as with TrySetPermits.
func (p *PermitSemaphore) SetPermits(ctx context.Context, n int64) error {
	t := p.operation("set permits")
	if err := checkCount("permits", n, 0, mostPermits); err != nil {
		return t.failed(err)
	}
	_, err := t.decide(ctx, gate.ChangeCount(gate.PermitSet, n))
	return err
}

// AddPermits changes the number of permits by n, from -2^50 to 2^50. The number of free permits may then be below 0 until
// enough are released. Errors are as with TrySetPermits.
func (p *PermitSemaphore) AddPermits(ctx context.Context, n int64) error {
	t := p.operation("add permits")
	return t.addPermits(ctx, gate.PermitAdd, n)
}

// Delete deletes the semaphore, and with it the permits that are held: it has none then, as if it was never given any.
// False means that there was nothing to delete. Waiters wait on. Each holder loses its [Hold] at the next renewal, or at
// once with [Options].WatchLoss; until then it works without a permit, so new permits should come later than that. Errors
// are as with TrySetPermits.
func (p *PermitSemaphore) Delete(ctx context.Context) (bool, error) {
	t := p.operation("delete")
	return t.delete(ctx, gate.PermitDelete)
}

// Available returns how many permits are free, after it has reclaimed those with a lease that is over. It does not pass
// through the semaphore's own queue. ctx and errors are as with [Mutex.Inspect].
func (p *PermitSemaphore) Available(ctx context.Context) (int64, error) {
	free, _, err := p.counts(ctx)
	return free, err
}

// Acquired returns how many permits are held, by any process. It works as Available.
func (p *PermitSemaphore) Acquired(ctx context.Context) (int64, error) {
	_, held, err := p.counts(ctx)
	return held, err
}

func (p *PermitSemaphore) counts(ctx context.Context) (free, held int64, err error) {
	t := p.operation("count permits")
	counts, err := t.counts(ctx, permitCountScript, 2, func(key string) (keys, args []string) {
		return []string{key, scripts.PermitsKey(key)}, []string{p.e.opts.PubSub.publish(), scripts.SemaphoreChannel(key)}
	})
	if err != nil {
		return 0, 0, err
	}
	return counts[0], counts[1], nil
}
