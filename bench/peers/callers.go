package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A caller makes one call after another: a goroutine of the blocking load, one of the pairs in flight of the
// asynchronous load.
type caller struct {
	meter  *meter
	index  int
	inside func() // enter, once for all calls

	// Owned by whoever runs the caller's current call.
	hot     int // the hot name it wants, or notHot
	calls   uint64
	entered int  // how often inside ran in this call
	passed  bool // another caller had the hot name before

	since atomic.Int64 // when it began to wait, by meter.now; 0: it does not wait
	// While measuring.
	pairs     atomic.Int64
	handovers atomic.Int64 // of these pairs, those whose hot name another caller had before
	_         [40]byte     // the next caller counts in another cache line
}

const (
	notHot = -1
	// Every so many holds let other goroutines run in the middle, so that a second holder has time to be caught.
	yieldEvery = 64
	// A caller that got an error waits this long, so that errors do not crowd out the work.
	pauseAfterFailure = time.Millisecond
)

func (c *caller) init(m *meter, index int) {
	c.meter, c.index, c.hot = m, index, notHot
	c.inside = c.enter
}

// begin says that a call starts now, and under which name.
func (c *caller) begin() (name string) {
	c.calls++
	c.entered = 0
	if c.hot != notHot {
		name = c.meter.names.build(uint64(c.hot))
	} else {
		name = c.meter.names.ofCaller(c.index, c.calls)
	}
	c.since.Store(c.meter.now())
	return name
}

// enter runs while the lock is held.
func (c *caller) enter() {
	waited := c.meter.now() - c.since.Swap(0)
	c.entered++
	if c.meter.is(measuring) {
		c.meter.waits.record(c.index, time.Duration(waited))
	}
	if c.hot == notHot {
		return
	}
	if !c.meter.shared.enter(c.hot) {
		c.meter.violate("two callers held one name at once")
	}
	c.passed = c.meter.shared.passed(c.hot, int64(c.meter.process)<<32+int64(c.index)+1)
	if c.meter.inside > 0 {
		time.Sleep(c.meter.inside)
	} else if c.calls%yieldEvery == 0 {
		runtime.Gosched()
	}
	c.meter.shared.leave(c.hot)
}

// end takes what the call came to.
func (c *caller) end(err error) {
	c.since.Store(0)
	if err != nil {
		c.meter.fail(err)
		return
	}
	if c.entered != 1 {
		c.meter.violate("a pair without exactly one hold")
	}
	if c.meter.is(measuring) {
		c.pairs.Add(1)
		if c.passed {
			c.handovers.Add(1)
		}
	}
}

// driveBlocking runs the callers, a goroutine each, until the meter says stop. of gives a caller's contestant.
func driveBlocking(of func(caller int) Contestant, hot int) loadDriver {
	return func(ctx context.Context, m *meter) error {
		var wg sync.WaitGroup
		for i := range m.callers {
			c := &m.callers[i]
			if hot > 0 {
				c.hot = i % hot
			}
			contestant := of(i)
			wg.Go(func() {
				for !m.is(stopped) {
					err := contestant.Pair(ctx, c.begin(), c.inside)
					c.end(err)
					if err != nil {
						time.Sleep(pauseAfterFailure)
					}
				}
			})
		}
		wg.Wait()
		return nil
	}
}
