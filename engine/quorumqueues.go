package engine

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// quorumQueues are the calls for an engine's QuorumLocks by name, in their order. The first has the turn: it may ask the servers, and then
// hold the lock.
type quorumQueues struct {
	mu     sync.Mutex
	queues map[string]*list.List
	wanted map[string]wish // names that others wanted
	swept  time.Time       // when those were forgotten whose time was over
	closed bool            // Shutdown has begun
}

// wish is that others wanted a name.
type wish struct {
	until time.Time // they may want it again
	place int       // the first server that said so
}

// wantedFor is how long others may come again for a name that was refused. Who asks for it meanwhile waits in line at once: otherwise the
// process that has just unlocked would have the majority again before the first in line has asked for it.
const wantedFor = time.Second

// want notes that the server at place has a name for others.
func (q *quorumQueues) want(name string, place int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if now.Sub(q.swept) >= wantedFor { // seldom enough, however many names are wanted
		maps.DeleteFunc(q.wanted, func(_ string, w wish) bool { return now.After(w.until) })
		q.swept = now
	}
	q.wanted[name] = wish{now.Add(wantedFor), place}
}

// isWanted reports whether others have wanted a name of late, and in the line of which server they wait.
func (q *quorumQueues) isWanted(name string) (place int, wanted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.wanted[name]
	return w.place, time.Now().Before(w.until)
}

// enter joins the queue, and returns how many are before c. If there are any, c counts as a request that waits: a call that asks only once does
// not join, nor does one more than may wait, nor one that comes when the engine closes; err says so.
func (q *quorumQueues) enter(c *compositeCall) (before int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := c.lock.e
	queue := q.queues[c.lock.name]
	if queue == nil {
		queue = list.New()
		q.queues[c.lock.name] = queue
	}
	before = queue.Len()
	waiting := before
	if before > 0 && queue.Front().Value.(*compositeCall).promise.Settled() { // it holds the lock
		waiting--
	}
	switch {
	case before == 0: // members tell of the engine's end
	case q.closed:
		return before, ErrClosed
	case c.once:
		return before, nil
	case waiting >= int(c.demand.queue):
		e.overloaded.Inc()
		return before, ErrOverloaded
	case !e.admit():
		return before, ErrOverloaded
	}
	c.place = queue.PushBack(c)
	return before, nil
}

// close answers the calls that wait for their turn.
func (q *quorumQueues) close() {
	q.mu.Lock()
	q.closed = true
	var waiting []*compositeCall
	for _, queue := range q.queues {
		for place := queue.Front().Next(); place != nil; place = place.Next() {
			waiting = append(waiting, place.Value.(*compositeCall))
		}
	}
	q.mu.Unlock()
	for _, c := range waiting {
		if q.leave(c, true) {
			c.settle(nil, c.lock.failed(ErrClosed))
		}
	}
}

// leave takes c out of the queue, and the next call may ask. waiting: only if its turn has not come. False: it is not taken out.
func (q *quorumQueues) leave(c *compositeCall, waiting bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[c.lock.name]
	first := c.place != nil && c.place == queue.Front()
	if c.place == nil || waiting && first {
		return false
	}
	queue.Remove(c.place)
	c.place = nil
	if queue.Len() == 0 {
		delete(q.queues, c.lock.name)
		return true
	}
	c.lock.e.waiting.Add(-1) // c, or the one that asks now
	if first {
		go queue.Front().Value.(*compositeCall).takeTurn()
	}
	return true
}

// askInTurn asks the servers of a QuorumLock when its turn has come.
func (c *compositeCall) askInTurn() {
	switch before, err := c.lock.e.quorums.enter(c); {
	case err != nil:
		c.settle(nil, c.lock.failed(err))
	case before == 0:
		go c.takeTurn()
	case c.once:
		c.settle(nil, c.lock.hasTurn())
	default:
		context.AfterFunc(c.asking, func() {
			if c.lock.e.quorums.leave(c, true) {
				c.last = c.lock.hasTurn()
				c.settle(nil, c.over())
			}
		})
	}
}

// hasTurn is the error for a call while another one has the turn.
func (s *several) hasTurn() error { return &HeldError{Name: s.name, TTL: -1} }

// takeTurn asks the servers for the call that has the turn, until it is answered. That costs a goroutine for each name that is waited for.
func (c *compositeCall) takeTurn() {
	place, wanted := c.lock.e.quorums.isWanted(c.lock.name)
	wanted = wanted && place < len(c.lock.members) // a lock of that name on more servers may have wanted it
	for {
		var h *Hold
		var err error
		inLine := wanted && !c.once
		if inLine {
			h, place, err = c.waitInLine(place)
		} else {
			h, place, err = c.askServers(nil)
		}
		if err == nil {
			c.settle(h, nil)
			return
		}
		if final := c.final(err); final != nil {
			c.settle(nil, final)
			return
		}
		if wanted = errors.Is(err, ErrHeld); wanted {
			c.lock.e.quorums.want(c.lock.name, place)
		}
		if inLine || !wanted {
			c.pause(err)
		}
	}
}

// passTurn lets the next call of this process ask when h has ended; nil: now.
func (c *compositeCall) passTurn(h *Hold) {
	if h == nil {
		c.lock.e.quorums.leave(c, false)
		return
	}
	holder := c.lock.e.quorums.hold(c)
	h.onEnd(func(error) { holder.lock.e.quorums.leave(holder, false) })
}

// hold has another call take the place of c, which has the lock now: c has the Hold of the caller, which the queue must not keep.
func (q *quorumQueues) hold(c *compositeCall) *compositeCall {
	q.mu.Lock()
	defer q.mu.Unlock()
	holder := &compositeCall{lock: c.lock, place: c.place}
	holder.promise.Init(&c.lock.e.callbacks, nil)
	holder.promise.Settle(nil, nil)
	c.place.Value, c.place = holder, nil
	return holder
}
