package main

import (
	"context"
	"sync/atomic"
	"time"
)

// settle is what the waiter gets to ask, be refused, subscribe, ask again and go to sleep, before the holder lets go: these are
// three round trips to a server that is so far away.
func settle(away time.Duration) time.Duration { return 3*time.Millisecond + 4*2*away }

const (
	// look is how often a process looks at the shared memory for the other one's doings.
	look = 50 * time.Microsecond
	// lostAfter is when a hand-over counts as lost: no contestant sleeps a quarter of that between two tries. The
	// waiter is then made to ask again, so that one lost message does not end the turn.
	lostAfter = time.Second
)

// driveHandover gives one lock to and fro between two processes. A holder keeps it until the other process asks
// for it and has had time to go to sleep; then it notes the time and unlocks, and leaves the lock alone until the
// other has it. The wait that is recorded runs from that note to the grant in the other process: both read the
// clock of the same machine. bench/redisson does the same in Handover.java.
func driveHandover(contestant Contestant, process int, settle time.Duration) loadDriver {
	return func(ctx context.Context, m *meter) error {
		c := &m.callers[0]
		c.hot = 0
		mine, theirs := m.shared.word(wordWaiting+process), m.shared.word(wordWaiting+1-process)
		var grants int64
		var waiter atomic.Pointer[context.CancelFunc]
		go c.rescue(process, &waiter)
		inside := func() {
			mine.Store(0)
			grants = c.receive()
			m.wait(func() bool { return theirs.Load() == 1 })
			time.Sleep(settle)
			c.letGo()
		}
		for !m.is(stopped) {
			name := c.begin()
			c.since.Store(0) // what counts is the time since the other's unlock, not since this call
			asking, cancel := context.WithCancel(ctx)
			waiter.Store(&cancel)
			mine.Store(1)
			err := contestant.Pair(asking, name, inside)
			rescued := asking.Err() != nil && ctx.Err() == nil
			cancel()
			if rescued {
				continue // its time is noted already
			}
			if err == nil {
				m.wait(func() bool { return m.shared.word(wordGrants).Load() > grants })
			}
			c.end(err)
		}
		return nil
	}
}

// receive notes that this process has the lock from now on, and answers how many grants there were.
func (c *caller) receive() (grants int64) {
	shared := c.meter.shared
	now := time.Now().UnixNano()
	c.entered++
	if !shared.enter(c.hot) {
		c.meter.violate("two processes held one name at once")
	}
	if released := shared.word(wordReleased).Swap(0); released > 0 && c.meter.is(measuring) {
		c.meter.waits.record(c.index, time.Duration(now-released))
	}
	return shared.word(wordGrants).Add(1)
}

// letGo notes that the lock is about to be unlocked. From here the other process waits for the hand-over; if it has
// not had it when the turn ends, since tells the meter how long that is.
func (c *caller) letGo() {
	c.meter.shared.leave(c.hot)
	c.since.Store(c.meter.now())
	c.meter.shared.word(wordReleased).Store(time.Now().UnixNano())
}

// rescue looks after this process' waiter until the turn ends. When the lock has long been free and the waiter still
// sleeps, the hand-over is lost: it counts with the time it took so far, and the call is cancelled.
func (c *caller) rescue(process int, waiter *atomic.Pointer[context.CancelFunc]) {
	mine := c.meter.shared.word(wordWaiting + process)
	released := c.meter.shared.word(wordReleased)
	for !c.meter.is(stopped) {
		time.Sleep(lostAfter / 20)
		at := released.Load()
		waited := time.Duration(time.Now().UnixNano() - at)
		if at == 0 || waited < lostAfter || mine.Load() == 0 || !released.CompareAndSwap(at, 0) {
			continue
		}
		if c.meter.is(measuring) {
			c.meter.lost.Add(1)
			c.meter.waits.record(c.index, waited)
		}
		(*waiter.Load())()
	}
}

// wait returns when done says so, or the turn has ended.
func (m *meter) wait(done func() bool) {
	for !done() && !m.is(stopped) {
		time.Sleep(look)
	}
}
