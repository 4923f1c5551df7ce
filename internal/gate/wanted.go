package gate

import "time"

// wantedPause is between the questions whether other processes wait for a name.
const wantedPause = 250 * time.Millisecond

// Wanter is an Ender whose holder may ask to be told that somebody else waits for the name.
type Wanter interface {
	Ender
	// Wanted tells it, once. It does not block.
	Wanted()
}

// wanting is the holds whose holders want to be told that somebody else waits. Who waits here is seen at once. Whether
// somebody waits elsewhere is asked for: waiters of other processes, and of Redisson, listen to the name's channel, or stand
// in the queue of a fair lock. Whoever polls leaves no trace.
type wanting struct {
	holds  []*Hold
	lookAt Time // when Redis may be asked, again
}

// lookAlarm is when Redis is to be asked; Never: nobody wants to know, or nobody knows.
func (q *lock) lookAlarm() Time {
	if c := q.contention; c != nil && len(c.wanting.holds) > 0 && q.Kind != SpinKind {
		return c.wanting.lookAt
	}
	return Never
}

// Wanted has the holder of h told when somebody else waits for the name.
func (q *lock) Wanted(now Time, h *Hold, fx *Effects) {
	if h.alive {
		w := &q.contended().wanting
		w.holds, w.lookAt = append(w.holds, h), now
	}
	q.Machine.pump(now, fx)
}

// seeWaiters tells of those who wait here, and forgets holds that have ended.
func (q *lock) seeWaiters() {
	if q.contention == nil || len(q.contention.wanting.holds) == 0 {
		return
	}
	w := &q.contention.wanting
	living := w.holds[:0]
	for _, h := range w.holds {
		if h.alive {
			living = append(living, h)
		}
	}
	clear(w.holds[len(living):])
	w.holds = living
	if q.queue.lasting() > 0 {
		w.tell()
	}
}

// countWaiters asks Redis who waits, if it is time.
func (q *lock) countWaiters(now Time, fx *Effects) bool {
	if now < q.lookAlarm() {
		return false
	}
	q.contention.wanting.lookAt = now + wantedPause
	q.send(CountWaiters, 0, 0, fx)
	return true
}

// countedWaiters is the answer.
func (q *lock) countedWaiters(c *Command) {
	if c.Result != Answered {
		return
	}
	others := int64(c.Reply)
	if q.Kind != FairKind {
		others -= q.contention.ownSubscriptions()
	}
	if others > 0 {
		q.contention.wanting.tell()
	}
}

// tell tells all of them. Who was told is not told again.
func (w *wanting) tell() {
	for _, h := range w.holds {
		if h.alive {
			h.By.(Wanter).Wanted()
		}
	}
	w.holds = nil
}
