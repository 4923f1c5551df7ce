package wheel

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Bell is what an Alarm rings. Ring must not block: it only posts to a mailbox. It is called by the Alarm's
// goroutine and must not call Close. It is an interface, where a func would be a closure to allocate for each
// alarm.
type Bell interface{ Ring(at Tick) }

// Alarm rings bells when their ticks begin. One serves all loops of an engine. A ring never comes before its
// tick has begun by the Clock; it comes some 12ms after that at the latest, or when the timing wheel behind
// it fails, about a second.
type Alarm struct {
	clock    *Clock
	tick     time.Duration
	logger   *slog.Logger
	newWheel func() timers
	ahead    func() time.Duration // how far the wall clock is ahead of the monotonic one; only changes matter

	// Owned by nobody: safe from anywhere.
	mail     *mailbox[letter] // any goroutine puts; only loop takes
	replaced atomic.Int64
	stop     func()        // any number of times
	halt     chan struct{} // closed by stop
	stopped  chan struct{} // closed by loop, as its last act

	// Owned by loop: no other goroutine touches these.
	table   *Slots[*ringing] // all alarms set and not yet rung
	free    []*ringing
	hand    *hand         // arms the wheel in use
	former  []*hand       // replaced, perhaps kept by their wheels
	beaten  bool          // the heartbeat ordered last has come
	missed  int           // checks in a row without it
	early   bool          // a timer fired long before its time
	lastGap time.Duration // what ahead said last
}

// An event says that an alarm was set, or that a timer of the wheel has fired.
type letter struct {
	at    Tick
	bell  Bell          // set: the bell to ring
	from  *hand         // fired: the hand that armed the timer, nil for a set
	beat  bool          // fired: it was the heartbeat
	armed time.Duration // fired: when the timer was armed, by the Clock
}

// ringing is an alarm in the table.
type ringing struct {
	place Timer[*ringing]
	bell  Bell
}

// NewAlarm starts an alarm for ticks of the given length, from 1ms to 10s; another one is a mistake in the
// program and panics. The alarm also calls the Clock's Check once a second. A nil logger discards.
func NewAlarm(clock *Clock, tick time.Duration, logger *slog.Logger) *Alarm {
	return newAlarm(clock, tick, logger, newTimingWheel, func() time.Duration { return wallAhead(clock.start) })
}

func newAlarm(clock *Clock, tick time.Duration, logger *slog.Logger, newWheel func() timers, ahead func() time.Duration) *Alarm {
	if tick < time.Millisecond || tick > 10*time.Second {
		panic(fmt.Sprintf("wheel: tick of %v is not between 1ms and 10s", tick))
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	a := &Alarm{
		clock: clock, tick: tick, logger: logger, newWheel: newWheel, ahead: ahead,
		mail:    newMailbox[letter](),
		halt:    make(chan struct{}),
		stopped: make(chan struct{}),
		lastGap: ahead(),
	}
	a.stop = sync.OnceFunc(func() { close(a.halt) })
	a.table = NewSlots[*ringing](tableSlots(tick), a.arm)
	a.useNewWheel()
	go a.loop()
	return a
}

// tableSlots makes the horizon of the table at most the longest delay the wheel takes: what is set further
// away is put off by the table and armed again from there.
func tableSlots(tick time.Duration) int {
	slots := 1
	for slots < 4096 && time.Duration(2*slots)*tick <= longestDelay {
		slots *= 2
	}
	return slots
}

// Set has bell rung once when tick at begins, or soon when it has begun. It may ring late; twice only if it
// was set twice. Set never blocks, and any goroutine may call it, from a Bell too. After Close it does nothing.
func (a *Alarm) Set(at Tick, bell Bell) { a.mail.put(letter{at: at, bell: bell}) }

// Replaced returns how many times the timing wheel was found stuck or its clock changed, and another one was
// put in its place.
func (a *Alarm) Replaced() int64 { return a.replaced.Load() }

// Close stops arming, then the wheel. No bell rings after it has returned; those not yet rung never do. It
// waits at most a second for a wheel that is stuck, whose goroutines are then lost. It may be repeated.
func (a *Alarm) Close() {
	a.stop()
	<-a.stopped
}

// loop owns the table and rings all bells. It never calls the wheel, which might keep it.
func (a *Alarm) loop() {
	defer close(a.stopped)
	check := time.NewTicker(checkInterval)
	defer check.Stop()
	var letters []letter
	for {
		select {
		case <-a.halt:
			a.mail.close()
			a.stopWheels()
			return
		case <-check.C:
			a.clock.Check()
			a.checkWheel()
		case <-a.mail.wake:
			letters = a.mail.take(letters)
			for _, l := range letters {
				a.read(l)
			}
		}
		a.ringDue()
	}
}

func (a *Alarm) read(l letter) {
	switch {
	case l.from == nil:
		a.enter(l.at, l.bell)
	case l.from != a.hand: // of a wheel replaced since; its alarms have been armed again
	case l.beat:
		a.beaten = true
	default:
		a.fired(l)
	}
}

// enter puts an alarm into the table, or rings it: the table would put off a tick that has begun.
func (a *Alarm) enter(at Tick, bell Bell) {
	if at <= a.now() {
		bell.Ring(at)
		return
	}
	var r *ringing
	if last := len(a.free) - 1; last >= 0 {
		r, a.free = a.free[last], a.free[:last]
	} else {
		r = new(ringing)
		r.place.Value = r
	}
	r.bell = bell
	a.table.Put(&r.place, at)
}

// ringDue trusts the Clock, not the event that made it look: so it does not matter which timer fired, or
// whether any did.
func (a *Alarm) ringDue() {
	for r := range a.table.Due(a.now()) {
		r.bell.Ring(a.table.At(&r.place))
		r.bell = nil
		a.free = append(a.free, r)
	}
}

// fired arms a timer again that came early because the wall clock is being slewed; each time the rest is
// at most half of what it was. One that came before half its time had passed tells of a wall clock set back,
// when the wheel fires all new timers at once: to arm it again would be a hot loop, so it waits for the check.
func (a *Alarm) fired(l letter) {
	now := a.clock.Now()
	rest := l.at.Begin(a.tick) - now
	switch {
	case rest <= 0: // on time; ringDue follows
	case rest > now-l.armed:
		a.early = true
	default:
		a.arm(l.at)
	}
}

func (a *Alarm) arm(at Tick) { a.hand.orders.put(order{at: at}) }

func (a *Alarm) now() Tick { return Floor(a.clock.Now(), a.tick) }
