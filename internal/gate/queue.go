package gate

// Queue is the waiters of one name, in order of arrival.
type Queue struct {
	head, tail *Waiter
	n, owned   int32      // how many wait; how many of them have an Owner
	tries      int32      // how many of them ask only once
	writers    int32      // how many of them want to exclude
	fair       *fairQueue // where they stand in Redis, when the lock is fair; else nil
}

func (q *Queue) push(w *Waiter) {
	w.queued, w.next, w.prev = true, nil, q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.count(w, 1)
	if q.fair != nil {
		q.fair.arrived(w)
	}
}

// pushFront lets w in before everybody who waits.
func (q *Queue) pushFront(w *Waiter) {
	if q.head == nil {
		q.push(w)
		return
	}
	w.queued, w.next, w.prev = true, q.head, nil
	q.head.prev, q.head = w, w
	q.count(w, 1)
}

func (q *Queue) remove(w *Waiter) {
	if !w.queued {
		return
	}
	if q.fair != nil {
		q.fair.gone(w)
	}
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.next, w.prev = false, nil, nil
	q.count(w, -1)
}

func (q *Queue) count(w *Waiter, by int32) {
	q.n += by
	if w.Owner != 0 {
		q.owned += by
	}
	if w.Try {
		q.tries += by
	}
	if w.Write {
		q.writers += by
	}
}

// lasting is how many of the waiters wait for as long as it takes.
func (q *Queue) lasting() int32 { return q.n - q.tries }

func everyone(*Waiter) bool    { return true }
func triesOnce(w *Waiter) bool { return w.Try }
