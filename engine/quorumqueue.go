package engine

import (
	"context"
	"sync"
)

// quorumQueues are the local queues of an engine's QuorumLocks, by name: one caller at a time may ask the servers.
type quorumQueues struct {
	mu     sync.Mutex
	queues map[string]*quorumQueue
}

type quorumQueue struct {
	token chan struct{} // capacity 1; the caller that has sent has the turn. Senders are served in their order.
	users int
}

// turn is the right to ask the servers, and then to hold the lock.
type turn struct {
	queues *quorumQueues
	name   string
	queue  *quorumQueue
}

func (q *QuorumLock) enter() *turn {
	qs := &q.e.quorums
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.queues == nil {
		qs.queues = make(map[string]*quorumQueue)
	}
	queue := qs.queues[q.name]
	if queue == nil {
		queue = &quorumQueue{token: make(chan struct{}, 1)}
		qs.queues[q.name] = queue
	}
	queue.users++
	return &turn{qs, q.name, queue}
}

func (t *turn) leave() {
	t.queues.mu.Lock()
	defer t.queues.mu.Unlock()
	if t.queue.users--; t.queue.users == 0 {
		delete(t.queues.queues, t.name)
	}
}

func (q *QuorumLock) turn(ctx context.Context) (*turn, error) {
	t := q.enter()
	select {
	case t.queue.token <- struct{}{}:
		return t, nil
	case <-ctx.Done():
		t.leave()
		return nil, q.gaveUp(ctx, endedBy(ctx), &HeldError{Name: q.name, TTL: -1})
	}
}

func (q *QuorumLock) tryTurn() (*turn, bool) {
	t := q.enter()
	select {
	case t.queue.token <- struct{}{}:
		return t, true
	default:
		t.leave()
		return nil, false
	}
}

// pass lets the next caller of this process ask.
func (t *turn) pass() {
	<-t.queue.token
	t.leave()
}

// passAfter calls pass when h ends.
func (t *turn) passAfter(h *Hold) { h.onEnd(func(error) { t.pass() }) }
