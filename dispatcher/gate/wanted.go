package gate

import (
	"slices"
	"time"
)

const (
	// wantedPause is between the questions whether other processes wait for a name.
	wantedPause = 250 * time.Millisecond
	// listenerAge is how old a hold is when a subscriber is somebody who has waited for it. A subscription outlives its last waiter
	// by lingerTime; the rest is for the end of the subscription on its way to Redis.
	listenerAge = 2 * lingerTime
)

// Wanter is an Ender whose holder may ask to be told that somebody else waits for the name.
type Wanter interface {
	Ender
	// Wanted tells it, once. It does not block.
	Wanted()
}

// wanting is the holds whose holders want to be told that somebody else has waited since they were granted. Who waits here is seen
// at once. Others are counted in Redis: the places in the queue of a fair lock, which a waiter that goes gives up, or those who
// listen to the name's channel. Whoever polls leaves no trace.
//
// Who listens to a channel when a hold is younger than listenerAge may be nobody:
//
//  1. B waits and subscribes. A unlocks, and B has the lock.
//  2. B unlocks. Its subscription stays for lingerTime.
//  3. A locks, and counts one who listens.
type wanting struct {
	holds  []*Hold
	lookAt Time // when Redis may be asked, again
}

// countableFrom is when whoever is counted has waited for h.
func (l *Lock) countableFrom(h *Hold) Time {
	if l.Kind == FairKind {
		return h.Since()
	}
	return h.Since() + listenerAge
}

// lookAlarm is when Redis is to be asked; Never: nobody wants to know, or nobody knows.
func (l *Lock) lookAlarm() Time {
	at := Never
	if l.Kind != SpinKind {
		for _, h := range l.contest.rivals.wanting.holds {
			at = min(at, max(l.countableFrom(h), l.contest.rivals.wanting.lookAt))
		}
	}
	return at
}

// Wanted has the holder of h told when somebody else waits for the name.
func (l *Lock) Wanted(now Time, h *Hold, fx *Effects) {
	if h.alive {
		w := &l.ownRivals().wanting
		w.holds, w.lookAt = append(w.holds, h), now
	}
	l.advance(now, fx)
}

// notifyOfWaiters tells of those who wait here, if any do, and forgets holds that have ended. A reader is let in beside readers.
func (l *Lock) notifyOfWaiters() {
	q := &l.contest.queue
	any := q.writers > 0 || q.lasting() > 0 && !l.reads()
	l.contest.rivals.wanting.notify(func(*Hold) bool { return any })
}

// countWaiters asks Redis who waits, if it is time.
func (l *Lock) countWaiters(now Time, fx *Effects) bool {
	if now < l.lookAlarm() {
		return false
	}
	l.contest.rivals.wanting.lookAt = now + wantedPause
	l.send(CountWaiters, 0, 0, fx)
	return true
}

// countedWaiters is the answer.
func (l *Lock) countedWaiters(c *Command) {
	if c.Result != Answered {
		return
	}
	others := int64(c.Reply)
	if l.Kind != FairKind {
		others -= l.contest.rivals.ownWhenSent(c.Sent)
	}
	l.contest.rivals.wanting.notify(func(h *Hold) bool { return others > 0 && c.Sent >= l.countableFrom(h) })
}

// notify tells those that are wanted, and forgets them and those that have ended.
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
