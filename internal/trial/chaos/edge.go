package chaos

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// edge takes a lock under a name of its own, of any shape, and looks at it around its deadline.
func (w *worker) edge() {
	d := demand{way: unbound, n: 1}
	if w.chance(w.Habits.Fixed) {
		d.lease = w.Habits.Shortest + w.upTo(w.Lease)
	}
	call := w.client.number()
	lock := w.shape(fmt.Sprintf("%s:%d:%d", w.Places[w.place].Name, w.client.Number, call))
	w.tell(record{What: called, At: now(), Way: unbound, Place: uint16(w.place), Call: call, N: 1, Fixed: d.lease > 0})
	h, err := lock(context.Background(), w.options(d)...)
	w.answer(h, err, call)
	if err != nil {
		w.sleep(10 * time.Millisecond)
		return
	}
	l := look{w: w, h: h, ctx: h.Context(context.Background()), call: call}
	w.awaitEdge(h, call)
	switch {
	case w.chance(300):
		l.around(w.upTo(20 * time.Millisecond))
	case w.chance(600): // unlock in the very moment in which it is over
		for end := now().plus(3 * time.Millisecond); h.Err() == nil && now() < end; {
			runtime.Gosched()
		}
	} // or Unlock is the first who looks
	w.giveBack(h, call)
	l.around(0)
}

// edgePermits is how many permits a pool has of which one is held.
const edgePermits = 2

// shape draws what a hold stands on: a name, one with permits, two servers, or the majority of all.
func (w *worker) shape(name string) func(context.Context, ...engine.LockOption) (*engine.Hold, error) {
	switch w.random.IntN(8) {
	case 0:
		return w.e.Mutex(name).Lock
	case 1:
		return w.e.RWMutex(name).Reader().Lock
	case 2:
		return w.e.RWMutex(name).Writer().Lock
	case 3:
		s := w.e.PermitSemaphore(name)
		for { // fails while the link is down
			if _, err := s.TrySetPermits(context.Background(), edgePermits); err == nil {
				break
			}
			if w.resting.Err() != nil { // the engine may still repeat the call: the name is one of permits
				return w.e.Mutex(name + ":mutex").Lock
			}
			time.Sleep(10 * time.Millisecond)
		}
		return func(ctx context.Context, opts ...engine.LockOption) (*engine.Hold, error) {
			return s.Acquire(ctx, 1, opts...)
		}
	case 4, 5:
		first := w.random.IntN(len(w.engines))
		both, err := engine.Multi(w.engines[first].Mutex(name), w.engines[(first+1)%len(w.engines)].Mutex(name))
		if err != nil {
			panic(err)
		}
		return both.Lock
	default:
		most, err := engine.Quorum(name, w.engines...)
		if err != nil {
			panic(err)
		}
		return most.Lock
	}
}

// awaitEdge waits until a few milliseconds before the deadline of a hold or after it, and not for ever when that moves.
func (w *worker) awaitEdge(h *engine.Hold, call uint32) {
	for range 3 {
		deadline := h.Deadline()
		w.affirm(h, call)
		time.Sleep(time.Until(deadline) - 2*time.Millisecond + w.upTo(4*time.Millisecond))
		if !h.Deadline().After(deadline) || w.resting.Err() != nil {
			return
		}
	}
}

// look is what a holder sees of his hold, again and again.
type look struct {
	w    *worker
	h    *engine.Hold
	ctx  context.Context // of the hold
	call uint32
	last classes // of what was told before
	told bool
}

// around looks for d, and once in any case.
func (l *look) around(d time.Duration) {
	for end := now().plus(d); ; time.Sleep(500 * time.Microsecond) {
		l.once()
		if now() >= end {
			return
		}
	}
}

// once looks and tells what has changed, or must not be: first at Err, then at the context.
func (l *look) once() {
	c, text := classify(l.h.Err())
	lives := l.ctx.Err() == nil
	if l.told && c == l.last && (c == 0 || !lives) {
		return
	}
	l.told, l.last = true, c
	l.w.tell(record{What: looked, At: now(), Call: l.call, Classes: c, Write: lives, Text: text})
}

// sight is what a holder saw at a look.
type sight struct {
	at    instant
	err   classes
	lives bool // the context did, after Err was read
}

// finality checks what holders saw: loss is final, and a context does not outlive its hold.
func (h *history) finality() {
	for _, c := range h.calls {
		h.figures.Looks += len(c.sights)
		for i, s := range c.sights {
			if s.err != 0 && s.lives {
				h.fail("finality", "%s: Err was %v at %d, and then its context still was alive", c.name(), s.err, s.at)
			}
			if i > 0 && s.err == 0 && c.sights[i-1].err != 0 {
				h.fail("finality", "%s: Err was %v at %d and nil at %d", c.name(), c.sights[i-1].err, c.sights[i-1].at, s.at)
			}
		}
	}
}

// sleepOverDeadlines stops a client a little before deadlines of its holds, which nobody can renew on some of its servers,
// and wakes it a few milliseconds before them or after; in the meantime the servers may have come back.
func sleepOverDeadlines(s *strike) bool {
	holed := s.Perm(len(s.victim.proxies))[:s.IntN(len(s.victim.proxies))]
	hole := func(on bool) {
		for _, i := range holed {
			s.victim.proxies[i].BlackHole(redistest.Both, on)
		}
	}
	hole(true)
	defer hole(false)
	hits := 0
	for end := now().plus(s.lease); now() < end; {
		deadline := s.victim.nextDeadline()
		if deadline == never {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		pauseUntil(deadline.plus(-s.upTo(150 * time.Millisecond)))
		if s.IntN(4) == 0 {
			hole(false)
		}
		wakes := deadline.plus(s.upTo(10*time.Millisecond) - 5*time.Millisecond)
		if !s.victim.freeze(wakes.sub(now())) {
			return false
		}
		hits++
	}
	return hits > 0
}

func pauseUntil(at instant) { time.Sleep(at.sub(now())) }

// nextDeadline is the next of a hold that nobody has unlocked, as far as its process has said; never: there is none.
func (p *process) nextDeadline() instant {
	said := p.said()
	after, next := now().plus(10*time.Millisecond), never
	over := make(map[uint32]bool)
	for _, r := range slices.Backward(said[max(0, len(said)-500):]) {
		switch r.What {
		case unlocking, alive, granted:
			if r.What != unlocking && !over[r.Call] && r.Until > after {
				next = min(next, r.Until)
			}
			over[r.Call] = true
		}
	}
	return next
}
