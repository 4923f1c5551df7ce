package chaos

import (
	"context"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// useTwo takes two mutexes at once, all or nothing. In the history they are two calls with the same answers.
func (w *worker) useTwo() {
	first, second := w.place, w.random.IntN(len(w.Places))
	if second == first || w.Places[second].Kind != mutexes {
		w.useLock(0)
		return
	}
	both, err := engine.Multi(w.e.Mutex(w.Places[first].Name), w.e.Mutex(w.Places[second].Name))
	if err != nil {
		panic(err)
	}
	d := demand{way: waited, wait: 1 + w.upTo(500*time.Millisecond)}
	if w.chance(300) {
		d.way = tried
	}
	calls := []uint32{w.client.number(), w.client.number()}
	each := func(r record) {
		for i, place := range []int{first, second} {
			r.Call, r.Place = calls[i], uint16(place)
			w.tell(r)
		}
	}
	at := now()
	// Each of its rounds waits for one part, and asks for all again: that may take a round trip more.
	each(record{What: called, Way: d.way, N: 1, At: at, Until: at.plus(d.wait + w.Lease)})
	var h *engine.Hold
	if d.way == tried {
		h, err = both.TryLock(context.Background())
	} else {
		h, err = both.Lock(context.Background(), w.options(d)...)
	}
	at = now()
	if c, text := classify(err); err != nil {
		each(record{What: denied, At: at, Classes: c, Text: text})
		w.pauseAfter(err)
		return
	}
	each(record{What: granted, At: at, Until: of(h.Deadline())})
	at = now()
	if deadline := of(h.Deadline()); h.Err() == nil {
		each(record{What: alive, At: at, Until: deadline})
	}
	each(record{What: unlocking, At: now(), Until: of(h.Deadline())})
	c, text := classify(h.Unlock(context.Background()))
	each(record{What: unlocked, At: now(), Classes: c, Text: text})
}
