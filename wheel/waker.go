package wheel

import (
	"sync"
	"time"

	"github.com/RussellLuo/timingwheel"
	"go.uber.org/atomic"
)

// Waker wakes a loop when ticks begin: up to 12 ms after, by a timing wheel.
//
// A wake-up is a hint. The timing wheel follows the wall clock and can get stuck, so a wake-up may come early, late,
// twice, or never, and the loop must have a timer of its own that wakes it a little later (Grace). Then no fault of the
// wheel delays anything by more than that, and nobody has to watch over the wheel:
//
//  1. The wall clock is set back. Timers in the wheel fire late, by as much; new ones fire at once.
//  2. Or the wheel stands still, and a goroutine that adds a timer never returns. Only the Waker's does, and is lost with it.
//  3. The loop calls Set and goes on: Set does not block, and drops what nobody takes.
//  4. The loop's own timer wakes it. It looks at its Clock, not at the source of the wake-up, and opens the slots that are due.
type Waker struct {
	clock   *Clock
	length  time.Duration // of a tick
	wake    func()
	orders  chan Tick
	pending atomic.Int32  // timers in the wheel
	stop    func()        // any number of times
	stopped chan struct{} // closed by run, as its last act; never when the wheel keeps it
}

// The sizes keep the timing wheel inside the envelope in which it has but one level and its known faults
// cannot be reached: a horizon (82s) of at least twice the longest delay plus tens of seconds. A wheel takes
// about 0.7 MB.
const (
	wheelTick    = 10 * time.Millisecond
	wheelSlots   = 8192
	longestDelay = 25 * time.Second
	// wheelEarly is added to a delay so that it never ends early: the wheel cuts to whole milliseconds and fires at the
	// beginning of its tick.
	wheelEarly = wheelTick + time.Millisecond
	// beatEvery is how often an idle wheel gets a timer, which keeps its time moving.
	beatEvery = 20 * time.Second
	// maxOrders and maxPending bound what waits for a wheel that stands still.
	maxOrders, maxPending = 1024, 8192
	// stopWait bounds the wait for a wheel that may be stuck.
	stopWait = time.Second
)

// Grace is how long after the beginning of a tick a loop looks by itself: when the Waker is well, it has woken by then.
const Grace = 15 * time.Millisecond

// timers is what is used of a timing wheel. A test plants a stuck one.
type timers interface {
	Start()
	AfterFunc(delay time.Duration, task func()) *timingwheel.Timer
	Stop()
}

// NewWaker starts a waker for ticks of the given length. wake is called by goroutines of the wheel and must not block.
func NewWaker(clock *Clock, length time.Duration, wake func()) *Waker {
	return newWaker(clock, length, wake, timingwheel.NewTimingWheel(wheelTick, wheelSlots))
}

func newWaker(clock *Clock, length time.Duration, wake func(), wheel timers) *Waker {
	halt := make(chan struct{})
	w := &Waker{
		clock: clock, length: length, wake: wake, orders: make(chan Tick, maxOrders),
		stop: sync.OnceFunc(func() { close(halt) }), stopped: make(chan struct{}),
	}
	go w.run(wheel, halt)
	return w
}

// Set has the loop woken when tick t begins, or soon when it has begun. A tick that is more than 25 s away is woken for
// early. Set never blocks, and any goroutine may call it.
func (w *Waker) Set(t Tick) {
	select {
	case w.orders <- t:
	default: // the wheel stands still
	}
}

// Close stops the wheel. It waits at most a second; false: the wheel is stuck, and three goroutines are lost with it.
func (w *Waker) Close() bool {
	w.stop()
	select {
	case <-w.stopped:
		return true
	case <-time.After(stopWait):
		return false
	}
}

// run owns the wheel: two goroutines that add timers at once are one of the ways it gets stuck. It stops the wheel only
// when it adds no more: a timer added to a wheel that is being stopped can keep its caller for ever.
func (w *Waker) run(wheel timers, halt <-chan struct{}) {
	defer close(w.stopped)
	wheel.Start()
	defer wheel.Stop()
	beat := time.Tick(beatEvery)
	for {
		select {
		case <-halt:
			return
		case <-beat:
			wheel.AfterFunc(wheelEarly, func() {})
		case t := <-w.orders:
			if w.pending.Load() >= maxPending { // it fires nothing any more
				continue
			}
			w.pending.Inc()
			wheel.AfterFunc(min(max(t.Begin(w.length)-w.clock.Now(), 0), longestDelay)+wheelEarly, w.fired)
		}
	}
}

// fired is called by the wheel.
func (w *Waker) fired() {
	w.pending.Dec()
	w.wake()
}
