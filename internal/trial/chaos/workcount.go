package chaos

import (
	"context"
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
