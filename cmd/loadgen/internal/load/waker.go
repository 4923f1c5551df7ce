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
func (b *waker) at(when Instant, wake func()) {
	b.mu.Lock()
	if b.stopped {
		b.mu.Unlock()
		wake()
		return
	}
	b.push(sleeper{when, wake})
	if b.heap[0].at == when {
		b.alarm.set(when.Sub(Now()))
	}
	b.mu.Unlock()
}

// listen wakes whom the alarm is for, until the waker is stopped.
func (b *waker) listen() {
	defer close(b.ended)
	var due []func()
	for {
		b.alarm.wait()
		b.mu.Lock()
		now := Now()
		for len(b.heap) > 0 && (b.stopped || b.heap[0].at <= now) {
			due = append(due, b.pop())
		}
		if len(b.heap) > 0 {
			b.alarm.set(b.heap[0].at.Sub(now))
		}
		stopped := b.stopped
		b.mu.Unlock()
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

// stop wakes everybody and ends the waker. It returns when all were woken. So a caller whose next call is due in an hour ends at once.
func (b *waker) stop() {
	b.mu.Lock()
	b.stopped = true
	b.alarm.set(0)
	b.mu.Unlock()
	<-b.ended
	b.alarm.close()
}

// push and pop keep the heap. (container/heap would box each sleeper.)
func (b *waker) push(s sleeper) {
	b.heap = append(b.heap, s)
	for i := len(b.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if b.heap[parent].at <= b.heap[i].at {
			return
		}
		b.heap[parent], b.heap[i] = b.heap[i], b.heap[parent]
		i = parent
	}
}

func (b *waker) pop() (wake func()) {
	wake = b.heap[0].wake
	last := len(b.heap) - 1
	b.heap[0] = b.heap[last]
	b.heap[last] = sleeper{}
	b.heap = b.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if b.heap[child].at < b.heap[least].at {
				least = child
			}
		}
		if least == i {
			return wake
		}
		b.heap[i], b.heap[least] = b.heap[least], b.heap[i]
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
