package chaos

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// worker makes one call after the other.
type worker struct {
	*client
	random *rand.Rand
	owner  engine.Owner // for re-entry
	number uint32       // of the owner, over 0
	place  int          // of the present call
}

func (c *client) worker(source rand.Source) *worker {
	return &worker{client: c, random: rand.New(source), owner: engine.NewOwner()}
}

// chance is true that often in a thousand.
func (w *worker) chance(share int) bool { return w.random.IntN(1000) < share }

// upTo is a time up to d.
func (w *worker) upTo(d time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(d) + 1))
}

// work calls until it is told to rest.
func (c *client) work(i int) {
	w := c.worker(rand.NewPCG(c.Seed, uint64(i)))
	w.number = uint32(i + 1)
	for c.resting.Err() == nil {
		if w.place = w.random.IntN(len(c.Places)); c.Hot {
			w.place = c.Number % len(c.Places)
		}
		switch c.Places[w.place].Kind {
		case semaphores:
			w.useSemaphore()
		case distinct:
			w.useDistinct()
		case callbacks:
			w.useCallbacks()
		default:
			w.useLock(0)
		}
		if w.Habits.Pause > 0 {
			w.sleep(w.upTo(w.Habits.Pause))
		}
	}
}

func (w *worker) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.resting.Done():
	}
}

// demand is what one call asks for.
type demand struct {
	way   way
	write bool
	n     int
	lease time.Duration // fixed; 0: watched
	wait  time.Duration // of waited, ctxEnded and dropped
	owner bool          // re-enter
}

// choose draws a call.
func (w *worker) choose() demand {
	h, d := w.Habits, demand{way: unbound, write: w.chance(400), n: 1}
	switch x := w.random.IntN(1000); {
	case x < h.Try:
		d.way = tried
	case x < h.Try+h.Wait:
		d.way, d.wait = waited, 1+w.upTo(h.WaitFor)
	case x < h.Try+h.Wait+h.CtxEnd:
		d.way, d.wait = ctxEnded, w.upTo(h.CtxEndIn)
	case x < h.Try+h.Wait+h.CtxEnd+h.Drop:
		d.way, d.wait = dropped, w.upTo(h.CtxEndIn)
	}
	if w.chance(h.Fixed) {
		d.lease = h.Shortest + w.upTo(w.Lease)
	}
	return d
}

// useLock takes and frees a lock, and inside it again if that can be.
func (w *worker) useLock(depth int) {
	p := w.Places[w.place]
	d := w.choose()
	d.owner = p.Kind == reentrant
	if depth > 0 {
		d.way = tried
	}
	if p.Kind == permits {
		d.n = 1 + w.random.IntN(2)
	}
	h, call := w.lock(d)
	if h == nil {
		return
	}
	w.think(h, call, d)
	if d.owner && depth < 2 && w.chance(300) && h.Err() == nil {
		w.useLock(depth + 1)
	}
	if w.chance(w.Habits.Forget) && (d.lease > 0 || w.chance(50)) { // it ends by its lease, or by MaxHold
		if w.watch(h, call, time.Minute); h.Err() != nil {
			return
		} // or else the client is to rest
	}
	w.giveBack(h, call)
}

// think keeps the hold for a while and says what becomes of it.
func (w *worker) think(h *engine.Hold, call uint32, d demand) {
	switch {
	case w.chance(w.Habits.Long):
		w.watch(h, call, w.upTo(w.Habits.LongHold))
	case w.chance(w.Habits.Middle):
		w.watch(h, call, w.upTo(w.Habits.MiddleHold))
	}
	if d.lease > 0 && w.chance(w.Habits.Extend) {
		w.tell(record{What: extending, At: now(), Call: call, Until: now().plus(d.lease)})
		c, text := classify(h.Extend(context.Background(), d.lease))
		w.tell(record{What: extended, At: now(), Call: call, Classes: c, Text: text, Until: of(h.Deadline())})
	}
	w.affirm(h, call)
}

// affirm says that the hold believes itself alive, if it does.
func (w *worker) affirm(h *engine.Hold, call uint32) {
	at := now() // before the question: alive then, or never
	deadline := of(h.Deadline())
	if h.Err() == nil {
		w.tell(record{What: alive, At: at, Call: call, Until: deadline})
	}
}

// watch waits, and says when the hold tells its end, and that it lives until then.
func (w *worker) watch(h *engine.Hold, call uint32, d time.Duration) {
	timer, tick := time.NewTimer(d), time.NewTicker(shortLease/5)
	defer timer.Stop()
	defer tick.Stop()
	for {
		select {
		case <-h.Done():
			at := now()
			c, text := classify(h.Err())
			w.tell(record{What: ended, At: at, Call: call, Classes: c, Text: text})
			return
		case <-tick.C:
			w.affirm(h, call)
		case <-timer.C:
			return
		case <-w.resting.Done():
			return
		}
	}
}

// giveBack is unlock, now and then under a context that has ended.
func (w *worker) giveBack(h *engine.Hold, call uint32) {
	ctx := context.Background()
	gone := w.chance(w.Habits.DeadCtx)
	if gone {
		dead, cancel := context.WithCancel(ctx)
		cancel()
		ctx = dead
	}
	w.tell(record{What: unlocking, At: now(), Call: call, Until: of(h.Deadline())})
	c, text := classify(h.Unlock(ctx))
	if gone {
		c &^= isContext
		if c == isUncertain { // what it has to say then
			c |= isContext
		}
	}
	w.tell(record{What: unlocked, At: now(), Call: call, Classes: c, Text: text})
}
