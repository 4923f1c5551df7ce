package futures

// waiter is one place in the queue of one future. It is a field of the struct that waits, its owner, so a place in the queue
// costs no memory of its own.
type waiter struct {
	next, prev *waiter // nil outside a queue
	owner      owner
}

// owner is what waits for the answer.
type owner interface {
	// answered says that the answer of the future can be read. It is called once, with no lock held,
	// on the goroutine that settled: it must not block nor run the user's code.
	answered()
}

// waiters is a queue of waiters: first in, first out, and a waiter may leave from the middle. It is a ring, so that one pointer
// reaches both ends. The caller does the locking.
type waiters struct {
	first *waiter
}

func (q *waiters) push(w *waiter) {
	if q.first == nil {
		w.next, w.prev = w, w
		q.first = w
		return
	}
	last := q.first.prev
	w.next, w.prev = q.first, last
	last.next, q.first.prev = w, w
}

// pop returns nil when the queue is empty.
func (q *waiters) pop() *waiter {
	w := q.first
	if w != nil {
		q.remove(w)
	}
	return w
}

// remove returns false when w is in no queue. It must not be in another one.
func (q *waiters) remove(w *waiter) bool {
	if w.next == nil {
		return false
	}
	switch {
	case w.next == w:
		q.first = nil
	case q.first == w:
		q.first = w.next
	}
	w.prev.next, w.next.prev = w.next, w.prev
	w.next, w.prev = nil, nil
	return true
}
