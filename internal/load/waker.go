package load

import (
	"sync"
	"time"
)

// waker wakes callers when their time has come: when a call is due, and when they have held or thought long
// enough. Go's own timers come up to a millisecond late when a process is idle, which an open loop would
// report as latency of the lock; the alarm below (alarm_linux.go) comes within some 30 µs.
//
// One goroutine listens for the alarm. Any goroutine may call at and stop.
type waker struct {
	alarm alarm
	ended chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards the rest
	heap    []sleeper  // the next to wake is the first
	stopped bool
}

type sleeper struct {
	at   Instant
	wake func() // must not block
}

func newWaker() (*waker, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	b := &waker{alarm: a, ended: make(chan struct{})}
	go b.listen()
	return b, nil
}

// at has wake called at a time, or at once when the waker is stopped before.
func (w *waker) at(when Instant, wake func()) {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		wake()
		return
	}
	w.push(sleeper{when, wake})
	if w.heap[0].at == when {
		w.alarm.set(when.Sub(Now()))
	}
	w.mu.Unlock()
}

// listen wakes the callers that the alarm is for, until the waker is stopped.
func (w *waker) listen() {
	defer close(w.ended)
	var due []func()
	for {
		w.alarm.wait()
		w.mu.Lock()
		now := Now()
		for len(w.heap) > 0 && (w.stopped || w.heap[0].at <= now) {
			due = append(due, w.pop())
		}
		if len(w.heap) > 0 {
			w.alarm.set(w.heap[0].at.Sub(now))
		}
		stopped := w.stopped
		w.mu.Unlock()
		for i, wake := range due {
			wake()
			due[i] = nil
		}
		due = due[:0]
		if stopped {
			return
		}
	}
}

// stop wakes everybody and ends the waker. It returns when all were woken. So a caller ends at once even if its next call is due in an hour.
func (w *waker) stop() {
	w.mu.Lock()
	w.stopped = true
	w.alarm.set(0)
	w.mu.Unlock()
	<-w.ended
	w.alarm.close()
}

// push and pop keep the heap. (container/heap would box each sleeper.)
func (w *waker) push(s sleeper) {
	w.heap = append(w.heap, s)
	for i := len(w.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if w.heap[parent].at <= w.heap[i].at {
			return
		}
		w.heap[parent], w.heap[i] = w.heap[i], w.heap[parent]
		i = parent
	}
}

func (w *waker) pop() (wake func()) {
	wake = w.heap[0].wake
	last := len(w.heap) - 1
	w.heap[0] = w.heap[last]
	w.heap[last] = sleeper{}
	w.heap = w.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if w.heap[child].at < w.heap[least].at {
				least = child
			}
		}
		if least == i {
			return wake
		}
		w.heap[i], w.heap[least] = w.heap[least], w.heap[i]
		i = least
	}
}

// alarm is a timer that one goroutine waits for and any may set.
type alarm interface {
	// set has the alarm go off after d, in place of what was set before.
	set(d time.Duration)
	// wait returns when the alarm has gone off since the last wait. It may also return early.
	wait()
	close()
}
