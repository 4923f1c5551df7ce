package wheel

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const tick = 50 * time.Millisecond

// onTime is how late a ring may come from a wheel that is well: what is added to its delays, and a
// millisecond more, for it sleeps in whole ones.
const onTime = wheelEarly + time.Millisecond

// bell writes down when it was rung.
type bell struct {
	clock *Clock
	mu    sync.Mutex
	rings []rung
}

type rung struct {
	tick Tick
	at   time.Duration
}

func (b *bell) Ring(at Tick) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rings = append(b.rings, rung{at, b.clock.Now()})
}

func (b *bell) rung() []rung {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]rung(nil), b.rings...)
}

// wantRings wants the ticks rung in this order, none early and none later than late.
func (b *bell) wantRings(t *testing.T, late time.Duration, ticks ...Tick) {
	t.Helper()
	rings := b.rung()
	if len(rings) != len(ticks) {
		t.Fatalf("%d rings: %v, want ticks %v", len(rings), rings, ticks)
	}
	for i, r := range rings {
		if r.tick != ticks[i] {
			t.Errorf("ring %d is for tick %d, want %d", i, r.tick, ticks[i])
		}
		if after := r.at - r.tick.Begin(tick); after < 0 || after > late {
			t.Errorf("tick %d rings %v after it began, want 0 to %v", r.tick, after, late)
		}
	}
}

// openAlarm starts an alarm with the real timing wheel, to be closed when the test ends.
func openAlarm(t *testing.T) (*Alarm, *bell) {
	clock := NewClock()
	a := NewAlarm(clock, tick, nil)
	t.Cleanup(a.Close)
	return a, &bell{clock: clock}
}

// sleepUntil goes to an instant of the clock and lets everything there happen.
func sleepUntil(c *Clock, at time.Duration) {
	time.Sleep(at - c.Now())
	synctest.Wait()
}

func TestAlarm(t *testing.T) {
	t.Run("rings once when the tick begins", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		a.Set(20, b)
		sleepUntil(b.clock, Tick(20).Begin(tick)-1)
		b.wantRings(t, 0)
		sleepUntil(b.clock, time.Minute)
		b.wantRings(t, onTime, 20)
	}))
	t.Run("rings at once for a tick that has begun", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		sleepUntil(b.clock, Tick(20).Begin(tick)+1)
		a.Set(20, b)
		synctest.Wait()
		b.wantRings(t, 1, 20)
		a.Set(-3, b)
		synctest.Wait()
		if n := len(b.rung()); n != 2 {
			t.Errorf("%d rings, want 2", n)
		}
	}))
	t.Run("rings every bell of a tick", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		other := &bell{clock: b.clock}
		a.Set(20, b)
		a.Set(20, other)
		sleepUntil(b.clock, 2*time.Second)
		b.wantRings(t, onTime, 20)
		other.wantRings(t, onTime, 20)
	}))
	t.Run("can be set by a bell", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		a.Set(2, bellFunc(func(at Tick) { a.Set(at+30, b) }))
		sleepUntil(b.clock, time.Minute)
		b.wantRings(t, onTime, 32)
	}))
	t.Run("rings on time what is further away than its wheel reaches", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		far := []Tick{Ceil(longestDelay, tick) + 1, Ceil(time.Minute, tick), Ceil(2*time.Hour, tick)}
		for _, at := range far {
			a.Set(at, b)
		}
		sleepUntil(b.clock, 3*time.Hour)
		b.wantRings(t, onTime, far...)
	}))
	t.Run("rings on time after a long idleness, on the first wheel", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		sleepUntil(b.clock, time.Hour)
		at := Ceil(time.Hour+300*time.Millisecond, tick)
		a.Set(at, b)
		sleepUntil(b.clock, time.Hour+time.Minute)
		b.wantRings(t, onTime, at)
		if n := a.Replaced(); n != 0 {
			t.Errorf("the wheel was replaced %d times, want 0", n)
		}
	}))
	t.Run("arms one timer for all bells of a tick, and none beyond the longest delay", inBubble(func(t *testing.T) {
		clock := NewClock()
		wheel := &countingWheel{timers: newTimingWheel()}
		a := newAlarm(clock, tick, nil, func() timers { return wheel }, func() time.Duration { return 0 })
		defer a.Close()
		b := &bell{clock: clock}
		for range 100 {
			a.Set(20, b)
		}
		a.Set(Ceil(longestDelay*3/2, tick), b)
		sleepUntil(clock, 900*time.Millisecond)
		if wheel.armed.Load() != 1+1+1 { // the tick, the horizon, the heartbeat
			t.Errorf("%d timers armed, want 3", wheel.armed.Load())
		}
		sleepUntil(clock, time.Minute)
		if n := len(b.rung()); n != 101 {
			t.Errorf("%d rings, want 101", n)
		}
		if longest := time.Duration(wheel.longest.Load()); longest > longestDelay+wheelEarly {
			t.Errorf("a timer was armed for %v, want at most %v", longest, longestDelay+wheelEarly)
		}
	}))
	t.Run("uses the record of a bell that has rung for another, and lets go of the bell", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		for _, at := range []Tick{20, 40} {
			a.Set(at, b)
			sleepUntil(b.clock, (at + 1).Begin(tick))
		}
		a.Close()
		if len(a.free) != 1 || a.free[0].bell != nil {
			t.Errorf("%d records lie there, want one without a bell", len(a.free))
		}
	}))
	t.Run("refuses a tick it cannot serve", func(t *testing.T) {
		for _, length := range []time.Duration{-1, 0, time.Millisecond - 1, 11 * time.Second} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("a tick of %v is accepted", length)
					}
				}()
				NewAlarm(NewClock(), length, nil)
			}()
		}
	})
}

func TestAlarmKeepsItsTableWithinTheWheel(t *testing.T) {
	for _, length := range []time.Duration{time.Millisecond, tick, time.Second, 10 * time.Second} {
		if reach := time.Duration(tableSlots(length)) * length; reach > longestDelay {
			t.Errorf("with a tick of %v the table reaches %v, want at most %v", length, reach, longestDelay)
		}
	}
	for length, want := range map[time.Duration]int{time.Millisecond: 4096, tick: 256, longestDelay / 4: 4, 10 * time.Second: 2} {
		if got := tableSlots(length); got != want {
			t.Errorf("with a tick of %v the table has %d slots, want %d", length, got, want)
		}
	}
	// The envelope of the timing wheel: one level, as long as nothing reaches half its horizon.
	if horizon := wheelSlots * wheelTick; horizon < 2*longestDelay+30*time.Second {
		t.Errorf("the horizon of %v is too short for delays of %v", horizon, longestDelay)
	}
}

// Alarms set at random from several goroutines, with all lengths of ticks, ring on time.
func TestAlarmRingsOnTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, length := range []time.Duration{time.Millisecond, 7 * time.Millisecond, tick, time.Second, 10 * time.Second} {
		t.Run(length.String(), inBubble(func(t *testing.T) {
			clock := NewClock()
			a := NewAlarm(clock, length, nil)
			defer a.Close()
			var missing atomic.Int64
			var setters sync.WaitGroup
			for setter := range 4 {
				random := rand.New(rand.NewPCG(seed, uint64(i*4+setter)))
				setters.Go(func() {
					for range 200 {
						time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
						at := Ceil(clock.Now()+time.Duration(random.ExpFloat64()*float64(5*time.Second)), length)
						missing.Add(1)
						a.Set(at, bellFunc(func(rung Tick) {
							missing.Add(-1)
							if late := clock.Now() - at.Begin(length); rung != at || late < 0 || late > onTime {
								t.Errorf("tick %d rings for %d, %v after it began", at, rung, late)
							}
						}))
					}
				})
			}
			setters.Wait()
			time.Sleep(10 * time.Minute)
			if n := missing.Load(); n != 0 {
				t.Errorf("%d alarms did not ring", n)
			}
			if n := a.Replaced(); n != 0 {
				t.Errorf("the wheel was replaced %d times, want 0", n)
			}
		}))
	}
}

func TestAlarmClose(t *testing.T) {
	t.Run("drops what has not rung, and what is set later", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		a.Set(20, b)
		a.Close()
		a.Set(0, b)
		a.Set(30, b)
		sleepUntil(b.clock, time.Minute)
		b.wantRings(t, 0)
		if n := len(a.mail.take(nil)); n != 0 {
			t.Errorf("%d letters lie in the mailbox of a closed alarm, want 0", n)
		}
	}))
	t.Run("takes no time when the wheel is well", inBubble(func(t *testing.T) {
		a, b := openAlarm(t)
		sleepUntil(b.clock, time.Minute)
		start := time.Now()
		a.Close()
		wantDuration(t, "Close takes", time.Since(start), 0)
	}))
	t.Run("may be repeated, by several at once", inBubble(func(t *testing.T) {
		a, _ := openAlarm(t)
		var closers sync.WaitGroup
		for range 4 {
			closers.Go(a.Close)
		}
		closers.Wait()
		a.Close()
	}))
	t.Run("lets no bell ring once it has returned", func(t *testing.T) {
		// Not in a bubble: this is about goroutines that really run at once.
		for range 20 {
			clock := NewClock()
			a := NewAlarm(clock, time.Millisecond, nil)
			var closed atomic.Bool
			var setters sync.WaitGroup
			rung := make(chan struct{}, 1)
			for range 4 {
				setters.Go(func() {
					for !closed.Load() {
						a.Set(Floor(clock.Now(), time.Millisecond)+Tick(rand.IntN(20)), bellFunc(func(Tick) {
							if closed.Load() {
								t.Error("a bell rang after Close")
							}
							select {
							case rung <- struct{}{}:
							default:
							}
						}))
					}
				})
			}
			<-rung
			a.Close()
			closed.Store(true)
			setters.Wait()
		}
	})
}

type bellFunc func(Tick)

func (f bellFunc) Ring(at Tick) { f(at) }
