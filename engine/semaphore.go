package engine

import (
	"context"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// Semaphore is a number of permits under one name, as Redisson's RSemaphore on the same name. Any goroutine may use it.
// Any number of handles on one name are the same semaphore.
//
// A semaphore has no holders: Redis knows how many permits there are, and not which process took them. So a permit does not come
// back when a process dies, nobody is told when the key is deleted, Close gives back nothing that was acquired, and a
// caller may Release permits that it did not acquire. [PermitSemaphore] has holders.
//
// No call takes or gives twice, however often it had to be sent. A permit that was taken for a caller that has gone
// goes to the next waiter or back. Two limits remain: a failover to a replica without the last writes may undo them;
// and a take that lost its answer, and gets no other answer within 50 s, may have lost its permits.
//
// A semaphore that was never given permits has none. Numbers of permits are from 0 to 2^50; Redisson counts them in 32
// bits.
type Semaphore struct{ handle }

// Semaphore returns the semaphore of a name. Names are as in [Engine.Mutex].
func (e *Engine) Semaphore(name string) *Semaphore {
	return &Semaphore{handle{e, name, semaphoreIndex}}
}

// Acquire waits until it has n permits, all at once. Waiters of this process are served in the order of arrival, even
// if a later one wants fewer permits. With n = 0 it returns nil without asking Redis. [WithWait] bounds the wait.
// [WithLease] and [WithOwner] are [ErrInvalid], because permits of a Semaphore have neither. Waiting, cancellation and
// errors are as with [Mutex.Lock]; while too few permits are free, the error of a wait that ends Is [ErrHeld].
//
// Processes have their turns in the order of a line. If too few permits are free for a caller that wants several when it
// is its turn, no other process takes any for a quarter of a second. If that was not enough, its turn is over, and for
// four times as long the others pass it; each time its turn lasts twice as long, up to five seconds. So it gets its
// permits beside processes that keep theirs for less than five seconds: at its turn if they keep them for less than a
// quarter of a second, else after about twelve times as long as they keep them. A caller that wants more permits than
// there are costs the others a fifth of their time at most. Clients of Redisson know no turns and take what they find:
// beside them a caller that wants several may wait without bound.
func (s *Semaphore) Acquire(ctx context.Context, n int64, opts ...LockOption) error {
	_, err := s.take(ctx, "acquire", n, false, opts)
	return err
}

// TryAcquire asks once and does not wait. If fewer than n permits are free, callers of this process wait, or it is the
// turn of another process, the error Is [ErrHeld], and its [HeldError] has a negative TTL, because nobody knows when permits come back. If ctx has no
// deadline, it waits for the answer for [Options].AnswerTimeout and then fails with [ErrUncertain]. Other errors are as
// with [Mutex.TryLock].
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...LockOption) error {
	_, err := s.take(ctx, "acquire", n, true, opts)
	return err
}

// AcquireAsync is Acquire without blocking. The end of ctx and the future's Cancel abandon it; permits that come later
// go to the next waiter or back.
func (s *Semaphore) AcquireAsync(ctx context.Context, n int64, opts ...LockOption) *futures.Future[struct{}] {
	return takeAsync[struct{}](ctx, &s.handle, "acquire", n, false, opts)
}

// TryAcquireAsync is TryAcquire without blocking. Cancellation is as with AcquireAsync.
func (s *Semaphore) TryAcquireAsync(ctx context.Context, n int64, opts ...LockOption) *futures.Future[struct{}] {
	return takeAsync[struct{}](ctx, &s.handle, "acquire", n, true, opts)
}

// Release gives n permits to the semaphore: acquired ones, or new ones. With n = 0 it does nothing.
//
// The command is sent even if ctx has ended, and as soon as Redis can be reached. ctx bounds only the wait for the
// answer; if ctx has no deadline, [Options].AnswerTimeout does. The errors are:
//
//   - [ErrUncertain], with the context's error if ctx ended: the answer did not come in time. The engine goes on for up
//     to 50 s after the first lost answer. The caller must not repeat the call.
//   - [ErrRefused]: the server refused it. Nothing was given.
//   - [ErrInvalid], [ErrForeignKey] and [ErrClosed].
func (s *Semaphore) Release(ctx context.Context, n int64) error {
	t := s.operation("release")
	if err := checkCount("a release", n, 0, mostPermits); err != nil {
		return t.failed(err)
	}
	if n == 0 {
		return nil
	}
	_, err := t.change(ctx, gate.ChangeCount(gate.Give, n))
	return err
}

// ReleaseAsync is Release without blocking. The end of ctx settles the future, and so does Cancel; neither undoes the
// release. AnswerTimeout does not apply.
func (s *Semaphore) ReleaseAsync(ctx context.Context, n int64) *futures.Future[struct{}] {
	t := s.operation("release")
	if err := checkCount("a release", n, 0, mostPermits); err != nil || n == 0 {
		if err != nil {
			err = t.failed(err)
		}
		return futures.Settled(&s.e.callbacks, struct{}{}, err)
	}
	return t.changeAsync(ctx, gate.ChangeCount(gate.Give, n))
}

// TrySetPermits gives the semaphore n permits if it was never given any. False means that it was, and that nothing
// changed. Like AddPermits and Drain it fails with [ErrNotSent] while the link is down; other errors are as with
// Release. But after [ErrUncertain] the engine goes on only with what was sent: if the link turns out to be down before that, nothing is changed. So
// look at Available before you repeat the call, once Redis can be reached again.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64) (bool, error) {
	t := s.operation("set permits")
	return t.setCount(ctx, gate.SetPermits, "permits", gate.CountArgs{N: n})
}

// TrySetPermitsFor is TrySetPermits for permits that live for ttl: then the semaphore has none, as if it was never given
// any, even if some are acquired; what is released later makes new ones. AddPermits and Drain end the time to live, and the
// permits stay. ttl is positive and at most [MaxLease], rounded up to whole milliseconds; otherwise the call fails with
// [ErrInvalid].
func (s *Semaphore) TrySetPermitsFor(ctx context.Context, n int64, ttl time.Duration) (bool, error) {
	t := s.operation("set permits")
	if ttl <= 0 || ttl > MaxLease {
		return false, t.failed(invalid("a time to live of %v: must be positive and at most %v", ttl, MaxLease))
	}
	return t.setCount(ctx, gate.SetPermits, "permits", gate.CountArgs{N: n, TTL: gate.CeilMillis(ttl)})
}

// AddPermits changes the number of permits by n, from -2^50 to 2^50. The number of free permits may then be below 0 until
// enough are released. Errors are as with TrySetPermits.
func (s *Semaphore) AddPermits(ctx context.Context, n int64) error {
	t := s.operation("add permits")
	return t.addPermits(ctx, gate.AddPermits, n)
}

// Drain takes all free permits and returns how many they were. The result is below 0 if AddPermits had made the number
// so; Drain then sets it to 0. Errors are as with TrySetPermits.
func (s *Semaphore) Drain(ctx context.Context) (int64, error) {
	t := s.operation("drain")
	return t.decide(ctx, gate.ChangeCount(gate.DrainPermits, 0))
}

// Delete deletes the semaphore: it has no permits then, as if it was never given any. False means that it had never been
// given any. Waiters wait on, and what is released later makes new permits. Errors are as with TrySetPermits.
func (s *Semaphore) Delete(ctx context.Context) (bool, error) {
	t := s.operation("delete")
	return t.delete(ctx, gate.DeletePermits)
}

// Available returns how many permits are free. It does not pass through the semaphore's own queue, so its answer may be
// older than that of a call that has returned meanwhile. ctx and errors are as with [Mutex.Inspect].
func (s *Semaphore) Available(ctx context.Context) (int64, error) {
	t := s.operation("count permits")
	return t.count(ctx)
}
