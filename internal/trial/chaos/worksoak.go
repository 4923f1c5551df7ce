package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// useDistinct does something under a name of its own.
func (w *worker) useDistinct() {
	call := w.client.number()
	m := w.e.Mutex(fmt.Sprintf("%s:%d:%d", w.Places[w.place].Name, w.client.Number, call))
	w.tell(record{What: called, At: now(), Way: unbound, Place: uint16(w.place), Call: call, N: 1})
	err := engine.Do(context.Background(), m, func(_ context.Context, h *engine.Hold) error {
		w.answer(h, nil, call)
		return nil
	})
	c, text := classify(err)
	w.tell(record{What: unlocked, At: now(), Call: call, Classes: c, Text: text})
	w.pauseAfter(err)
}

// useCallbacks takes some locks and gives them back, as a program does in which nobody waits; at times it has thought
// better of it.
func (w *worker) useCallbacks() {
	var done []*futures.Future[*engine.Hold]
	for i := range 3 {
		call := w.client.number()
		w.tell(record{What: called, At: now(), Way: dropped, Place: uint16(w.place), Call: call, N: 1})
		m := w.e.Mutex(fmt.Sprintf("%s:%d", w.Places[w.place].Name, i))
		f := m.LockAsync(context.Background(), engine.WithWait(time.Second)).Then(func(h *engine.Hold, err error) {
			w.answer(h, err, call)
			if h != nil {
				h.UnlockAsync()
			}
		})
		if w.chance(w.Habits.Drop) {
			f.Cancel()
		}
		done = append(done, f)
	}
	_, err := futures.All(done...).Wait(context.Background()) // the callbacks have told
	w.pauseAfter(err)
}
