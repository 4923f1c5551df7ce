package engine

import "sync"

// backlog runs tasks that call code of the user, one after the other, on a goroutine that lives while there are tasks. put runs none of that
// code (invariant: loop-never-waits). If a task ends the goroutine, another one goes on with the next task.
type backlog[T interface{ run() }] struct {
	mu      sync.Mutex // guards the rest
	queue   queue[T]
	running bool // there is a goroutine
}

func (b *backlog[T]) put(task T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue.push(task)
	if !b.running {
		b.running = true
		go b.work()
	}
}

// len is how many tasks wait.
func (b *backlog[T]) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.len()
}

func (b *backlog[T]) work() {
	done := false
	defer func() {
		if !done { // a task has ended the goroutine
			go b.work()
		}
	}()
	for task, ok := b.take(); ok; task, ok = b.take() {
		task.run()
	}
	done = true
}

// take takes the next task; false: there is none, and the goroutine ends.
func (b *backlog[T]) take() (task T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = !b.queue.empty()
	return b.queue.pop(), b.running
}

// queue is first in, first out.
type queue[T any] struct {
	waiting []T
	first   int // what is before it is taken
}

// queueRoom is the capacity that an empty queue keeps.
const queueRoom = 4096

func (q *queue[T]) push(v T)    { q.waiting = append(q.waiting, v) }
func (q *queue[T]) len() int    { return len(q.waiting) - q.first }
func (q *queue[T]) empty() bool { return q.len() == 0 }

// pop returns the first; the zero value if there is none.
func (q *queue[T]) pop() (v T) {
	if q.empty() {
		return v
	}
	v, q.waiting[q.first] = q.waiting[q.first], v
	q.first++
	switch {
	case q.empty() && cap(q.waiting) > queueRoom:
		*q = queue[T]{}
	case q.empty():
		*q = queue[T]{waiting: q.waiting[:0]}
	case q.first > len(q.waiting)/2 && q.first > queueRoom: // a queue that is never empty would grow for ever
		n := copy(q.waiting, q.waiting[q.first:])
		clear(q.waiting[n:])
		*q = queue[T]{waiting: q.waiting[:n]}
	}
	return v
}
