package engine

import (
	"context"

	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// CountDownLatch lets callers wait until a count has reached 0, as Redisson's RCountDownLatch on the same
// name. Any goroutine may use it, and any number of handles on one name are the same latch.
//
// A latch that was never set, was counted down or was deleted counts 0 and holds nobody up. It has no owner:
// who was to count down and died leaves the others waiting. No call counts twice, however often it had to be
// sent. Waiters look again when the connection for messages was broken, and every Options.PollCap.
type CountDownLatch struct {
	e    *Engine
	name string
}

// CountDownLatch is the latch of a name: 1 to 1,024 bytes, taken as they are.
func (e *Engine) CountDownLatch(name string) *CountDownLatch {
	return &CountDownLatch{e: e, name: name}
}

// Name is the name as it was given, before NameMapper.
func (l *CountDownLatch) Name() string { return l.name }

func (l *CountDownLatch) operation(doing string) operation {
	return operation{e: l.e, name: l.name, doing: doing, kind: gate.LatchKind}
}

// Wait returns nil when the count is 0. WithWait bounds the wait; WithLease and WithOwner are ErrInvalid. When the wait
// ends while the latch is not open the error Is ErrHeld besides.
func (l *CountDownLatch) Wait(ctx context.Context, opts ...LockOption) error {
	c := l.e.calls.get()
	if err := l.fill(ctx, opts, &c.waiter); err != nil {
		l.e.calls.put(c)
		return err
	}
	t := l.operation("wait for")
	return t.block(ctx, c)
}

// WaitAsync is Wait without blocking. The end of ctx, or Cancel, abandons it.
func (l *CountDownLatch) WaitAsync(ctx context.Context, opts ...LockOption) *futures.Future[struct{}] {
	r := &request[struct{}]{operation: l.operation("wait for")}
	if err := l.fill(ctx, opts, &r.waiter); err != nil {
		return futures.Settled(&l.e.callbacks, struct{}{}, err)
	}
	return r.start(ctx)
}

func (l *CountDownLatch) fill(ctx context.Context, opts []LockOption, w *gate.Waiter) error {
	t := l.operation("wait for")
	d, err := l.e.opts.read(opts, false)
	if err == nil && (d.fixed || d.owner != 0) {
		err = invalid("WithLease or WithOwner on a name that has no owners")
	}
	if err != nil {
		return t.failed(err)
	}
	w.Until = l.e.until(ctx, false, d.wait)
	return nil
}

// CountDown lowers the count by one; at 0 the latch is deleted and everybody let through. Without a latch it
// does nothing.
//
// It is sent also when ctx has ended, and as soon as Redis can be reached; ctx bounds only the wait for its
// answer, and the error then Is ErrUncertain and the context's: it must not be repeated. Without a deadline in ctx that
// wait lasts for Options.AnswerTimeout, and the error then is ErrUncertain alone; it must not be repeated either.
// ErrRefused: nothing was counted. The engine goes on for up to 50 s after the first answer that was lost.
func (l *CountDownLatch) CountDown(ctx context.Context) error {
	t := l.operation("count down")
	_, err := t.change(ctx, gate.Change{Op: gate.CountDown, N: 1})
	return err
}

// Count is what is still to be counted down. It passes by the latch's own queue, so its answer may be older
// than that of a call that returned meanwhile.
func (l *CountDownLatch) Count(ctx context.Context) (int64, error) {
	t := l.operation("count")
	return t.count(ctx)
}

// TrySetCount sets the count to n, from 0, if there is none; false: there is, and nothing changed. Like
// Delete it fails with ErrNotSent while the link is down.
func (l *CountDownLatch) TrySetCount(ctx context.Context, n int64) (bool, error) {
	t := l.operation("set the count of")
	if err := checkCount("a count", n, 0); err != nil {
		return false, t.failed(err)
	}
	set, err := t.decide(ctx, gate.Change{Op: gate.SetCount, N: n})
	return set == 1, err
}

// Delete deletes the latch and lets through who waits in wheellock; Redisson's own waiters sleep on. False:
// there was none.
func (l *CountDownLatch) Delete(ctx context.Context) (bool, error) {
	t := l.operation("delete")
	deleted, err := t.decide(ctx, gate.Change{Op: gate.DeleteCount})
	return deleted == 1, err
}
