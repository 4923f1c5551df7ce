package wheel

import (
	"sync"
	"time"

	"github.com/RussellLuo/timingwheel"
)

// The sizes keep the timing wheel inside the envelope in which it has but one level and its known faults
// cannot be reached: a horizon (82s) of at least twice the longest delay plus tens of seconds. A wheel takes
// about 0.7 MB.
const (
	wheelTick    = 10 * time.Millisecond
	wheelSlots   = 8192
	longestDelay = 25 * time.Second
	// The wheel cuts to whole milliseconds and fires at the beginning of its tick: so much is added to a
	// delay that it never ends early.
	wheelEarly = wheelTick + time.Millisecond
	// The heartbeat keeps the time of an idle wheel moving and shows that it turns.
	beatDelay = checkInterval / 2
)

// timers is what is used of a timing wheel. A test plants a stuck one.
type timers interface {
	Start()
	AfterFunc(delay time.Duration, task func()) *timingwheel.Timer
	Stop()
}

func newTimingWheel() timers { return timingwheel.NewTimingWheel(wheelTick, wheelSlots) }

// hand arms one timing wheel. Its goroutine alone touches the wheel: two that arm at once are one of the
// ways it gets stuck, and once stuck it may keep everyone who calls it. The Alarm's loop therefore only
// leaves orders, and walks away from a hand that is kept.
type hand struct {
	wheel  timers
	clock  *Clock
	tick   time.Duration
	mail   *mailbox[letter] // of the Alarm: what has fired
	orders *mailbox[order]  // the Alarm's loop puts; only run takes

	stop    func()        // any number of times
	halt    chan struct{} // closed by stop
	stopped chan struct{} // closed by run, as its last act; never when the wheel keeps it
}

// An order asks for a timer at the beginning of a tick, or for a heartbeat.
type order struct {
	at   Tick
	beat bool
}

func newHand(wheel timers, clock *Clock, tick time.Duration, mail *mailbox[letter]) *hand {
	h := &hand{
		wheel: wheel, clock: clock, tick: tick, mail: mail,
		orders:  newMailbox[order](),
		halt:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	h.stop = sync.OnceFunc(func() { close(h.halt) })
	go h.run()
	return h
}

// run owns the wheel. It stops the wheel only when it arms no more: a timer added to a wheel being stopped
// can keep its caller for ever. The wheel's second Stop would panic, so nobody else calls it.
func (h *hand) run() {
	defer close(h.stopped)
	h.wheel.Start()
	defer h.wheel.Stop()
	var orders []order
	for {
		select {
		case <-h.halt:
			return
		case <-h.orders.wake:
			orders = h.orders.take(orders)
			for _, o := range orders {
				h.arm(o)
			}
		}
	}
}

// ended says whether run has returned, and the wheel's goroutines with it.
func (h *hand) ended() bool {
	select {
	case <-h.stopped:
		return true
	default:
		return false
	}
}

// arm adds a timer whose task, on a goroutine of the wheel's, only posts an event. The event carries the
// hand, that is the generation of the wheel, so that a late one can be told.
func (h *hand) arm(o order) {
	fired := letter{from: h, at: o.at, beat: o.beat, armed: h.clock.Now()}
	delay := beatDelay
	if !o.beat {
		delay = min(max(o.at.Begin(h.tick)-fired.armed, 0), longestDelay) + wheelEarly
	}
	h.wheel.AfterFunc(delay, func() { h.mail.put(fired) })
}
