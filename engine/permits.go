package engine

import (
	"context"
	"encoding/hex"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// PermitSemaphore is a number of permits that are held, as Redisson's RPermitExpirableSemaphore on the same
// name: each permit that is taken has an id and a lease, and comes back by itself when nobody renews it. Any
// goroutine may use it, and any number of handles on one name are the same semaphore.
//
// Acquire gives a Hold, which the watchdog renews like any other, unless WithLease fixes its end; its holder is
// told when it is lost. Leases are counted by the server's clock. Redisson counts them by the clock of the Java
// process: one that is ahead by some seconds takes permits for so much longer, and, when it reclaims what has
// run out, ends ours by so much too early; the holder is told by the next renewal. Keep the clocks of Java services
// right, or their leases long.
type PermitSemaphore struct {
	e    *Engine
	name string
}

// PermitSemaphore is the semaphore of a name: 1 to 1,024 bytes, taken as they are. By Redisson's rule "a" and "{a}" keep
// what is held under one key, so while one of them is in use the other is ErrInvalid. Do not use one in this process
// and the other in another.
func (e *Engine) PermitSemaphore(name string) *PermitSemaphore {
	return &PermitSemaphore{e: e, name: name}
}

// maxPermits is how many permits one Hold may have: all of them are renewed by one script.
const maxPermits = 1000

// Name is the name as it was given, before NameMapper.
func (p *PermitSemaphore) Name() string { return p.name }

func (p *PermitSemaphore) operation(doing string) operation {
	return operation{e: p.e, name: p.name, doing: doing, kind: gate.PermitKind}
}

// Acquire waits until it has got n permits, from 1 to 1,000, all at once in one Hold. Waiters of this process
// are served in the order of arrival. There are no owners to re-enter: WithOwner is ErrInvalid.
func (p *PermitSemaphore) Acquire(ctx context.Context, n int, opts ...LockOption) (*Hold, error) {
	return p.block(ctx, n, false, opts)
}

// TryAcquire asks once. When there are fewer than n permits, or others of this process wait, the error is
// ErrHeld; the TTL of its HeldError is when the next held permit ends, if nobody renews it. Without a deadline in ctx it
// waits for the answer for Options.AnswerTimeout, and then fails with ErrUncertain.
func (p *PermitSemaphore) TryAcquire(ctx context.Context, n int, opts ...LockOption) (*Hold, error) {
	return p.block(ctx, n, true, opts)
}

// AcquireAsync is Acquire without blocking. The end of ctx, or Cancel, abandons it.
func (p *PermitSemaphore) AcquireAsync(ctx context.Context, n int, opts ...LockOption) *futures.Future[*Hold] {
	return p.async(ctx, n, false, opts)
}

// TryAcquireAsync is TryAcquire without blocking.
func (p *PermitSemaphore) TryAcquireAsync(ctx context.Context, n int, opts ...LockOption) *futures.Future[*Hold] {
	return p.async(ctx, n, true, opts)
}

// PermitIDs are the ids of the hold's permits in Redis, 32 hex digits each, as Redisson gives them; nil for
// the hold of a lock.
func (h *Hold) PermitIDs() []string {
	if h.permits == 0 {
		return nil
	}
	ids := make([]string, h.permits)
	for i := range ids {
		ids[i] = hex.EncodeToString(scripts.PermitID(h.e.uuid, h.core.Tenure+uint64(i)))
	}
	return ids
}

// Release frees permits by their ids, whoever holds them: all, or none and ErrLost when one is not held any
// more. An id that is given twice counts once. The id of a living Hold of this engine ends that Hold, with ErrUnlocked, and frees all its permits: prefer Unlock.
func (p *PermitSemaphore) Release(ctx context.Context, ids ...string) error {
	t := p.operation("release")
	if len(ids) == 0 || len(ids) > maxPermits {
		return t.failed(invalid("%d permit ids: must be from 1 to %d", len(ids), maxPermits))
	}
	ch := gate.Change{Op: gate.PermitFree, N: int64(len(ids)), Numbers: make([]uint64, len(ids))}
	var text []byte
	for i, id := range ids {
		raw, err := hex.DecodeString(id)
		if err != nil || len(raw) != 16 {
			return t.failed(invalid("a permit id %s: must be 32 hex digits", quote(id)))
		}
		text = append(text, raw...)
		ch.Numbers[i] = scripts.PermitNumber(p.e.uuid, raw)
	}
	ch.Text = string(text)
	_, err := t.change(ctx, ch)
	return err
}

// TrySetPermits gives the semaphore n permits if it was never given any; false: it was, and nothing changed.
// Like AddPermits it fails with ErrNotSent while the link is down.
func (p *PermitSemaphore) TrySetPermits(ctx context.Context, n int64) (bool, error) {
	t := p.operation("set permits")
	if err := checkCount("permits", n, 0); err != nil {
		return false, t.failed(err)
	}
	set, err := t.decide(ctx, gate.Change{Op: gate.SetPermits, N: n})
	return set == 1, err
}

// AddPermits changes how many permits there are by n, which may be negative: what is available may then be
// less than 0 until enough is released.
func (p *PermitSemaphore) AddPermits(ctx context.Context, n int64) error {
	t := p.operation("add permits")
	if err := checkCount("an addition", n, -mostPermits); err != nil {
		return t.failed(err)
	}
	_, err := t.decide(ctx, gate.Change{Op: gate.PermitAdd, N: n})
	return err
}

// Available is how many permits are free, after those whose lease is over were reclaimed. It passes by the
// semaphore's own queue.
func (p *PermitSemaphore) Available(ctx context.Context) (int64, error) {
	free, _, err := p.counts(ctx)
	return free, err
}

// Acquired is how many permits are held, by anybody, as Available.
func (p *PermitSemaphore) Acquired(ctx context.Context) (int64, error) {
	_, held, err := p.counts(ctx)
	return held, err
}

func (p *PermitSemaphore) counts(ctx context.Context) (free, held int64, err error) {
	t := p.operation("count permits")
	r, err := t.query(ctx, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Eval().Script(scripts.PermitCount.Text).Numkeys(2).Key(key, scripts.PermitsKey(key)).
			Arg(p.e.opts.PubSub.publish(), scripts.SemaphoreChannel(key)).Build()
	})
	if err != nil {
		return 0, 0, err
	}
	parts, err := r.AsIntSlice()
	if err != nil || len(parts) != 3 {
		return 0, 0, t.unread(err)
	}
	if err := t.faulty(parts[0]); err != nil {
		return 0, 0, err
	}
	return parts[1], parts[2], nil
}

// fill checks a call and makes the waiter of its request.
func (p *PermitSemaphore) fill(ctx context.Context, n int, try bool, opts []LockOption, w *gate.Waiter) error {
	t := p.operation("acquire")
	d, err := p.e.opts.read(opts, try)
	if err == nil && d.owner != 0 {
		err = invalid("WithOwner on permits: they cannot be re-entered")
	}
	if err == nil && (n < 1 || n > maxPermits) {
		err = invalid("an acquire of %d: must be from 1 to %d", n, maxPermits)
	}
	if err != nil {
		return t.failed(err)
	}
	w.N, w.Lease, w.Watch, w.Try = int64(n), d.lease, !d.fixed, try
	w.Until = p.e.until(ctx, try, d.wait)
	return nil
}

func (p *PermitSemaphore) block(ctx context.Context, n int, try bool, opts []LockOption) (*Hold, error) {
	c := p.e.calls.get()
	if err := p.fill(ctx, n, try, opts, &c.waiter); err != nil {
		p.e.calls.put(c)
		return nil, err
	}
	h := newHold(p.e, p.name)
	h.permits = int32(n)
	c.waiter.Hold = &h.core
	t := p.operation("acquire")
	if err := t.block(ctx, c); err != nil {
		return nil, err
	}
	return h, nil
}

func (p *PermitSemaphore) async(ctx context.Context, n int, try bool, opts []LockOption) *futures.Future[*Hold] {
	r := &request[*Hold]{operation: p.operation("acquire")}
	if err := p.fill(ctx, n, try, opts, &r.waiter); err != nil {
		return futures.Settled[*Hold](&p.e.callbacks, nil, err)
	}
	return r.start(ctx)
}
