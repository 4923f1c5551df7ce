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

func (ws *waiters) push(w *waiter) {
	if ws.first == nil {
		w.next, w.prev = w, w
		ws.first = w
		return
	}
	last := ws.first.prev
	w.next, w.prev = ws.first, last
	last.next, ws.first.prev = w, w
}

// pop returns nil when the queue is empty.
func (ws *waiters) pop() *waiter {
	w := ws.first
	if w != nil {
		ws.remove(w)
	}
	return w
}

// remove returns false when w is in no queue. It must not be in another one.
func (ws *waiters) remove(w *waiter) bool {
	if w.next == nil {
		return false
	}
	switch {
	case w.next == w:
		ws.first = nil
	case ws.first == w:
		ws.first = w.next
	}
	w.prev.next, w.next.prev = w.next, w.prev
	w.next, w.prev = nil, nil
	return true
}
