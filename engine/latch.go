package engine

import (
	"context"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// CountDownLatch lets callers wait until a count has reached 0, as Redisson's RCountDownLatch on the same name. Any
// goroutine may use it. Any number of handles on one name are the same latch.
//
// A latch that was never set, was counted down or was deleted counts 0 and is open. It has no owner: a process that
// dies before it counts down leaves the others waiting. No call counts twice, however often it had to be sent. Waiters
// ask again after the connection for messages was broken, and every [Options].PollCap.
type CountDownLatch struct{ handle }

// CountDownLatch returns the latch of a name. Names are as in [Engine.Mutex].
func (e *Engine) CountDownLatch(name string) *CountDownLatch {
	return &CountDownLatch{handle{e, name, latchIndex}}
}

// Wait returns nil when the count is 0, also if ctx ends in that moment: there is nothing to give back. [WithWait] bounds the wait; [WithLease] and [WithOwner] are [ErrInvalid].
// Cancellation and errors are as with [Mutex.Lock]. If the wait ends while the latch is not open, the error also Is
// [ErrHeld].
func (c *CountDownLatch) Wait(ctx context.Context, opts ...LockOption) error {
	_, err := c.take(ctx, "wait for", 0, false, opts)
	return err
}

// WaitAsync is Wait without blocking. The end of ctx and the future's Cancel abandon it.
func (c *CountDownLatch) WaitAsync(ctx context.Context, opts ...LockOption) *futures.Future[struct{}] {
	return takeAsync[struct{}](ctx, &c.handle, "wait for", 0, false, opts)
}

// CountDown lowers the count by one. At 0 the latch is deleted and all waiters return. Without a latch it does nothing.
//
// The command is sent even if ctx has ended, and as soon as Redis can be reached. ctx bounds only the wait for the
// answer; if ctx has no deadline, [Options].AnswerTimeout does. The errors are:
//
//   - [ErrUncertain], with the context's error if ctx ended: the answer did not come in time. The engine goes on for up
//     to 50 s after the first lost answer. The caller must not repeat the call.
//   - [ErrRefused]: the server refused it. Nothing was counted.
//   - [ErrInvalid], [ErrForeignKey] and [ErrClosed].
func (c *CountDownLatch) CountDown(ctx context.Context) error {
	t := c.operation("count down")
	_, err := t.change(ctx, gate.ChangeCount(gate.CountDown, 1))
	return err
}

// Count returns what is still to be counted down. It does not pass through the latch's own queue, so its answer may be
// older than that of a call that has returned meanwhile. ctx and errors are as with [Mutex.Inspect].
func (c *CountDownLatch) Count(ctx context.Context) (int64, error) {
	t := c.operation("count")
	return t.count(ctx)
}

// TrySetCount sets the count to n, from 0 to 2^50, if there is none. False means that there is one, and that nothing
// changed. Like Delete it fails with [ErrNotSent] while the link is down; other errors are as with [Semaphore.TrySetPermits].
func (c *CountDownLatch) TrySetCount(ctx context.Context, n int64) (bool, error) {
	t := c.operation("set the count of")
	return t.setCount(ctx, gate.SetCount, "a count", gate.CountArgs{N: n})
}

// Delete deletes the latch. The waiters of engines return; Redisson's own waiters sleep on. False means that there was
// none.
func (c *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	t := c.operation("delete")
	return t.delete(ctx, gate.DeleteCount)
}
