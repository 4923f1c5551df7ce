package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// Semaphore is a number of permits under one name, as Redisson's RSemaphore on the same name. Any goroutine
// may use it, and any number of handles on one name are the same semaphore.
//
// It has no holders: Redis knows how many permits there are and not who took them. So a permit does not come
// back when a process dies, nobody is told when the key is deleted, Close gives nothing back that was
// acquired, and anybody may Release what he did not acquire. PermitSemaphore has holders. What is certain:
// no call takes or gives twice, however often it had to be sent, and a permit taken for a caller who has gone
// goes to the next or back. A fail-over to a replica that did not have the last writes may undo them.
//
// A semaphore that was never given permits has none. Numbers of permits are from 0 to 2^50; Redisson counts
// them in 32 bits.
type Semaphore struct {
	e    *Engine
	name string
}

// Semaphore is the semaphore of a name: 1 to 1,024 bytes, taken as they are.
func (e *Engine) Semaphore(name string) *Semaphore { return &Semaphore{e: e, name: name} }

// Name is the name as it was given, before NameMapper.
func (s *Semaphore) Name() string { return s.name }

func (s *Semaphore) operation(doing string) operation {
	return operation{e: s.e, name: s.name, doing: doing, kind: gate.SemaphoreKind}
}

// Acquire waits until it has got n permits, all at once. Waiters of this process are served in the order of
// arrival, also when one behind wants less. n 0 is granted without asking. WithWait bounds the wait; there is
// nothing that WithLease and WithOwner could mean: ErrInvalid.
func (s *Semaphore) Acquire(ctx context.Context, n int64, opts ...LockOption) error {
	return s.block(ctx, n, false, opts)
}

// TryAcquire asks once. When there are fewer than n permits, or others of this process wait, the error is
// ErrHeld, and its HeldError has a negative TTL: nobody knows when permits come back. Without a deadline in ctx it waits
// for the answer for Options.AnswerTimeout, and then fails with ErrUncertain.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...LockOption) error {
	return s.block(ctx, n, true, opts)
}

// AcquireAsync is Acquire without blocking. The end of ctx, or Cancel, abandons it.
func (s *Semaphore) AcquireAsync(ctx context.Context, n int64, opts ...LockOption) *futures.Future[struct{}] {
	return s.async(ctx, n, false, opts)
}

// TryAcquireAsync is TryAcquire without blocking.
func (s *Semaphore) TryAcquireAsync(ctx context.Context, n int64, opts ...LockOption) *futures.Future[struct{}] {
	return s.async(ctx, n, true, opts)
}

// Release gives n permits to the semaphore, acquired before or new. n 0 does nothing.
//
// It is sent also when ctx has ended, and as soon as Redis can be reached; ctx bounds only the wait for its
// answer, and the error then Is ErrUncertain and the context's: it must not be repeated. Without a deadline in ctx that
// wait lasts for Options.AnswerTimeout, and the error then is ErrUncertain alone; it must not be repeated either.
// ErrRefused: nothing was given. The engine goes on for up to 50 s after the first answer that was lost.
func (s *Semaphore) Release(ctx context.Context, n int64) error {
	t := s.operation("release")
	if err := checkCount("a release", n, 0); err != nil {
		return t.failed(err)
	}
	if n == 0 {
		return nil
	}
	_, err := t.change(ctx, gate.Change{Op: gate.Give, N: n})
	return err
}

// ReleaseAsync is Release without blocking. The end of ctx settles the future, and so does Cancel; neither undoes anything.
func (s *Semaphore) ReleaseAsync(ctx context.Context, n int64) *futures.Future[struct{}] {
	t := s.operation("release")
	if err := checkCount("a release", n, 0); err != nil || n == 0 {
		if err != nil {
			err = t.failed(err)
		}
		return futures.Settled(&s.e.callbacks, struct{}{}, err)
	}
	return t.changeAsync(ctx, gate.Change{Op: gate.Give, N: n})
}

// TrySetPermits gives the semaphore n permits if it was never given any; false: it was, and nothing changed.
// Like AddPermits and Drain it fails with ErrNotSent while the link is down.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64) (bool, error) {
	t := s.operation("set permits")
	if err := checkCount("permits", n, 0); err != nil {
		return false, t.failed(err)
	}
	set, err := t.decide(ctx, gate.Change{Op: gate.SetPermits, N: n})
	return set == 1, err
}

// AddPermits changes how many permits there are by n, which may be negative: what is available may then be
// less than 0 until enough is released.
func (s *Semaphore) AddPermits(ctx context.Context, n int64) error {
	t := s.operation("add permits")
	if err := checkCount("an addition", n, -mostPermits); err != nil {
		return t.failed(err)
	}
	_, err := t.decide(ctx, gate.Change{Op: gate.AddPermits, N: n})
	return err
}

// Drain takes all permits that are available and returns how many they were: less than 0 when AddPermits had
// made it so, which Drain makes 0.
func (s *Semaphore) Drain(ctx context.Context) (int64, error) {
	t := s.operation("drain")
	return t.decide(ctx, gate.Change{Op: gate.DrainPermits})
}

// Available is how many permits there are. It passes by the semaphore's own queue, so its answer may be older
// than that of a call that returned meanwhile.
func (s *Semaphore) Available(ctx context.Context) (int64, error) {
	t := s.operation("count permits")
	return t.count(ctx)
}

// fill checks a call and makes the waiter of its request. done: n is 0 and there is nothing to ask.
func (s *Semaphore) fill(ctx context.Context, n int64, try bool, opts []LockOption, w *gate.Waiter) (done bool, err error) {
	t := s.operation("acquire")
	d, err := s.e.opts.read(opts, try)
	if err == nil && (d.fixed || d.owner != 0) {
		err = invalid("WithLease or WithOwner on a name that has no owners")
	}
	if err == nil {
		err = checkCount("an acquire", n, 0)
	}
	if err == nil && ctx.Err() != nil {
		err = endedBy(ctx)
	}
	if err == nil && n == 0 {
		_, err = s.e.key(s.name, t.kind)
		done = true
	}
	if err != nil {
		return true, t.failed(err)
	}
	w.N, w.Try = n, try
	w.Until = s.e.until(ctx, try, d.wait)
	return done, nil
}

func (s *Semaphore) block(ctx context.Context, n int64, try bool, opts []LockOption) error {
	c := s.e.calls.get()
	done, err := s.fill(ctx, n, try, opts, &c.waiter)
	if done {
		s.e.calls.put(c)
		return err
	}
	t := s.operation("acquire")
	return t.block(ctx, c)
}

func (s *Semaphore) async(ctx context.Context, n int64, try bool, opts []LockOption) *futures.Future[struct{}] {
	r := &request[struct{}]{operation: s.operation("acquire")}
	done, err := s.fill(ctx, n, try, opts, &r.waiter)
	if done {
		return futures.Settled(&s.e.callbacks, struct{}{}, err)
	}
	return r.start(ctx)
}
