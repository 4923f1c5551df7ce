package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// useSemaphore takes and gives permits of a semaphore, which makes no holds.
func (w *worker) useSemaphore() {
	d := w.choose()
	d.lease = 0
	n := int64(1 + w.random.IntN(2))
	call := w.client.number()
	s := w.e.Semaphore(w.Places[w.place].Name)
	none := struct{}{}
	_, err := ask(w, d, record{What: called, Way: d.way, Place: uint16(w.place), Call: call, N: int32(n)}, asking[struct{}]{
		func(ctx context.Context, o ...engine.LockOption) (struct{}, error) {
			return none, s.Acquire(ctx, n, o...)
		},
		func(ctx context.Context, _ ...engine.LockOption) (struct{}, error) { return none, s.TryAcquire(ctx, n) },
		func(ctx context.Context, o ...engine.LockOption) *futures.Future[struct{}] {
			return s.AcquireAsync(ctx, n, o...)
		},
	})
	if c, text := classify(err); err != nil {
		w.tell(record{What: denied, At: now(), Call: call, Classes: c, Text: text})
		w.pauseAfter(err)
		return
	}
	w.tell(record{What: granted, At: now(), Call: call, Until: never})
	if w.chance(w.Habits.Middle) {
		w.sleep(w.upTo(30 * time.Millisecond))
	}
	w.tell(record{What: unlocking, At: now(), Call: call, Until: never})
	c, text := w.insist(func(ctx context.Context) error { return s.Release(ctx, n) })
	w.tell(record{What: unlocked, At: now(), Call: call, Classes: c, Text: text})
}

// insist does it again as long as Redis refuses it: then nothing was done. It waits for the answer for longer than any
// outage lasts, for only the answer says that it was done.
func (w *worker) insist(do func(context.Context) error) (c classes, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		if c, text = classify(do(ctx)); c != isRefused {
			return c, text
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// remove deletes a latch. It asks until it is told that nothing is left: a server that waits for its disk may not answer in time.
func remove(l *engine.CountDownLatch) {
	for end := now().plus(2 * time.Minute); now() < end; time.Sleep(10 * time.Millisecond) {
		if _, err := l.Delete(context.Background()); err == nil {
			return
		}
	}
}

// latchCount is what a latch counts down from.
const latchCount = 3

// useLatch sets a latch of its own, lets somebody wait, and counts it down. A count that had its effect twice
// lets the waiter through before the last one was called; one without effect leaves him waiting.
func (w *worker) useLatch() {
	call := w.client.number()
	l := w.e.CountDownLatch(fmt.Sprintf("%s:%d:%d", w.Places[w.place].Name, w.client.Number, call))
	at := now()
	for { // fails while the link is down, and may have set it nevertheless
		if _, err := l.TrySetCount(context.Background(), latchCount); err == nil {
			break
		}
		if w.resting.Err() != nil {
			remove(l)
			return
		}
		w.sleep(10 * time.Millisecond)
	}
	w.tell(record{What: called, Way: unbound, Place: uint16(w.place), Call: call, N: latchCount, At: at})
	waiting := l.WaitAsync(context.Background())
	var last instant
	for range latchCount {
		if w.chance(w.Habits.Middle) {
			w.sleep(w.upTo(30 * time.Millisecond))
		}
		last = now()
		if c, text := w.insist(l.CountDown); c != 0 {
			waiting.Cancel()
			remove(l)
			w.tell(record{What: denied, At: now(), Call: call, Classes: c, Text: text})
			return
		}
	}
	_, err := waiting.Wait(context.Background())
	at = now()
	if c, text := classify(err); err != nil {
		w.tell(record{What: denied, At: at, Call: call, Classes: c, Text: text})
		return
	}
	w.tell(record{What: latched, At: at, Call: call, Until: last})
}
