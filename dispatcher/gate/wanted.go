package gate

import (
	"slices"
	"time"
)

// listenerAge is the age of a hold from which on every subscriber has waited for it. A subscription outlives its last waiter by lingerTime;
// the rest is for the end of the subscription on its way to Redis.
const listenerAge = 2 * lingerTime

// Wanter is an Ender that can be notified that another caller waits for the name.
type Wanter interface {
	Ender
	// Wanted notifies it, once. It does not block.
	Wanted()
}

// wanting is the holds that are to be notified when another caller waits for the name that did not wait before them. Waiters of this
// process are known at once. Other processes are counted in Redis: by the places in the line for a mutex or in the queue of a fair one, which
// a waiter that gives up leaves, and by the subscribers of the name's channel. Pollers leave no trace.
//
// A subscriber may be nobody's when a hold is younger than listenerAge:
//
//  1. B waits and subscribes. A unlocks, and B has the lock.
//  2. B unlocks. Its subscription stays for lingerTime.
//  3. A locks, and counts one subscriber.
type wanting struct {
	holds  []*Hold
	lookAt Time // when Redis may be asked next
}

// alarm is when Redis is to be asked about a lock of that kind; Never: no holder wants to know, or the others cannot be counted.
func (w *wanting) alarm(kind Kind) Time {
	if kind == SpinKind || len(w.holds) == 0 {
		return Never
	}
	return w.lookAt
}

// Wanted has the holder of h, a Wanter, notified when another caller waits for the name.
func (l *Lock) Wanted(now Time, h *Hold, fx *Effects) {
	if h.alive {
		w := &l.ownRivals().wanting
		if len(w.holds) == cap(w.holds) { // as many may have ended
			w.holds = slices.DeleteFunc(w.holds, func(h *Hold) bool { return !h.alive })
			w.holds = slices.Grow(w.holds, len(w.holds)+1)
		}
		w.holds, w.lookAt = append(w.holds, h), now
	}
	l.advance(now, fx)
}

// notifyOfWaiters notifies the holders if a caller waits here. A reader waits for no readers. Else it forgets the last holds if they have ended, so that
// Redis is asked for living ones only.
func (l *Lock) notifyOfWaiters() {
	q, w := &l.contest.queue, &l.contest.rivals.wanting
	if q.writers > 0 || q.lasting() > 0 && !l.reads() {
		w.notify(func(*Hold) bool { return true })
	}
	for n := len(w.holds); n > 0 && !w.holds[n-1].alive; n-- {
		w.holds = slices.Delete(w.holds, n-1, n)
	}
}

// countWaiters asks Redis how many others wait, if it is time.
func (l *Lock) countWaiters(now Time, fx *Effects) {
	if w := &l.contest.rivals.wanting; l.flight == None && now >= w.alarm(l.Kind) {
		w.lookAt = now + 250*time.Millisecond
		l.send(CountWaiters, 0, 0, fx)
	}
}

// countedWaiters handles the answer.
func (r *rivals) countedWaiters(c *Command) {
	if c.Result != Answered {
		return
	}
	listeners, places := c.Reply.Waiting()
	others := int64(listeners) - r.ownSubscriptions()
	if places == 0 && others <= 0 {
		return
	}
	r.wanting.notify(func(h *Hold) bool {
		return places > 0 && c.Sent >= h.Since() || others > 0 && c.Sent >= h.Since()+listenerAge
	})
}

// notify notifies the holders of the holds that are wanted. It forgets these and the holds that have ended.
func (w *wanting) notify(wanted func(*Hold) bool) {
	w.holds = slices.DeleteFunc(w.holds, func(h *Hold) bool {
		if h.alive && !wanted(h) {
			return false
		}
		if h.alive {
			h.By.(Wanter).Wanted()
		}
		return true
	})
}
