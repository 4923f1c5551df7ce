package wheel

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const tick = 50 * time.Millisecond

// onTime is how late a wake-up may come from a wheel that is well: what is added to its delays, and a
// millisecond more, for it sleeps in whole ones.
const onTime = wheelEarly + time.Millisecond

// sleeper writes down when it was woken.
type sleeper struct {
	clock *Clock
	mu    sync.Mutex
	woken []time.Duration
}

func (s *sleeper) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = append(s.woken, s.clock.Now())
}

// all returns when it was woken.
func (s *sleeper) all() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.woken)
}

// within counts the wake-ups from at on, for so long.
func (s *sleeper) within(at, long time.Duration) int {
	n := 0
	for _, w := range s.all() {
		if w >= at && w <= at+long {
			n++
		}
	}
	return n
}

// openWaker starts a waker with the real timing wheel, to be closed when the test ends.
func openWaker(t *testing.T) (*Waker, *sleeper) {
	s := &sleeper{clock: NewClock()}
	w := newWaker(s.clock, tick, s.wake, newTimingWheel())
	t.Cleanup(func() {
		if !w.Close() {
			t.Error("the wheel is stuck")
		}
	})
	return w, s
}

// sleepUntil goes to an instant of the clock and lets everything there happen.
func sleepUntil(c *Clock, at time.Duration) {
	time.Sleep(at - c.Now())
	synctest.Wait()
}

func TestWaker(t *testing.T) {
	t.Run("wakes once when the tick has begun", inBubble(func(t *testing.T) {
		w, s := openWaker(t)
		w.Set(20)
		sleepUntil(s.clock, time.Minute)
		if len(s.all()) != 1 || s.within(Tick(20).Begin(tick), onTime) != 1 {
			t.Errorf("woken at %v, want once from %v on", s.all(), Tick(20).Begin(tick))
		}
	}))
	t.Run("wakes soon for a tick that has begun", inBubble(func(t *testing.T) {
		w, s := openWaker(t)
		sleepUntil(s.clock, time.Second)
		w.Set(20)
		w.Set(-3)
		sleepUntil(s.clock, time.Minute)
		if len(s.all()) != 2 || s.within(time.Second, onTime) != 2 {
			t.Errorf("woken at %v, want twice from 1s on", s.all())
		}
	}))
	t.Run("wakes early for a tick beyond its reach", inBubble(func(t *testing.T) {
		w, s := openWaker(t)
		w.Set(Ceil(time.Hour, tick))
		sleepUntil(s.clock, 2*time.Hour)
		if len(s.all()) != 1 || s.within(longestDelay, onTime) != 1 {
			t.Errorf("woken at %v, want once from %v on", s.all(), longestDelay)
		}
	}))
	t.Run("wakes on time after a long idleness", inBubble(func(t *testing.T) {
		w, s := openWaker(t)
		sleepUntil(s.clock, time.Hour)
		at := Ceil(time.Hour+300*time.Millisecond, tick)
		w.Set(at)
		sleepUntil(s.clock, time.Hour+time.Minute)
		if len(s.all()) != 1 || s.within(at.Begin(tick), onTime) != 1 {
			t.Errorf("woken at %v, want once from %v on", s.all(), at.Begin(tick))
		}
	}))
	t.Run("adds no timer beyond the longest delay, and keeps an idle wheel going", inBubble(func(t *testing.T) {
		wheel := &countingWheel{timers: newTimingWheel()}
		w := newWaker(NewClock(), tick, func() {}, wheel)
		w.Set(Ceil(longestDelay*3/2, tick))
		time.Sleep(time.Minute + time.Second)
		w.Close()
		if longest := time.Duration(wheel.longest.Load()); longest > longestDelay+wheelEarly {
			t.Errorf("a timer was added for %v, want at most %v", longest, longestDelay+wheelEarly)
		}
		if n := wheel.added.Load(); n != 1+int64(time.Minute/beatEvery) {
			t.Errorf("%d timers were added in a minute, want one and %d beats", n, time.Minute/beatEvery)
		}
	}))
	t.Run("keeps to the envelope of its wheel", func(t *testing.T) {
		if horizon := wheelSlots * wheelTick; horizon < 2*longestDelay+30*time.Second {
			t.Errorf("the horizon of %v is too short for delays of %v", horizon, longestDelay)
		}
		if beatEvery+longestDelay+wheelEarly >= wheelSlots*wheelTick {
			t.Errorf("an idle wheel falls behind by %v, and delays reach beyond its horizon", beatEvery)
		}
		if Grace <= onTime {
			t.Errorf("the grace of %v ends before a wheel that is well has woken, within %v", Grace, onTime)
		}
	})
	t.Run("wakes at every one of many ticks, set by several goroutines", inBubble(func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w, s := openWaker(t)
		var mu sync.Mutex
		var ticks []Tick
		var setters sync.WaitGroup
		for setter := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(setter)))
			setters.Go(func() {
				for range 200 {
					time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
					at := Ceil(s.clock.Now()+time.Duration(random.Int64N(int64(longestDelay-tick))), tick)
					mu.Lock()
					ticks = append(ticks, at)
					mu.Unlock()
					w.Set(at)
				}
			})
		}
		setters.Wait()
		time.Sleep(2 * longestDelay)
		for _, at := range ticks {
			if s.within(at.Begin(tick), onTime) == 0 {
				t.Errorf("not woken for tick %d", at)
			}
		}
	}))
}

func newTimingWheel() timers { return timingwheel.NewTimingWheel(wheelTick, wheelSlots) }

// countingWheel counts the timers added.
type countingWheel struct {
	timers
	added   atomic.Int64
	longest atomic.Int64
}

func (c *countingWheel) AfterFunc(delay time.Duration, task func()) *timingwheel.Timer {
	c.added.Add(1)
	c.longest.Store(max(c.longest.Load(), int64(delay)))
	return c.timers.AfterFunc(delay, task)
}

// sickWheel behaves as the timing wheel does when its faults are reached.
type sickWheel struct {
	add       func(delay time.Duration, task func()) // nil: takes the timer and never fires
	keepsStop bool                                   // Stop returns only when released
	released  chan struct{}
	added     atomic.Int64
}

func (s *sickWheel) Start() {}

func (s *sickWheel) AfterFunc(delay time.Duration, task func()) *timingwheel.Timer {
	s.added.Add(1)
	if s.add != nil {
		s.add(delay, task)
	}
	return nil
}

func (s *sickWheel) Stop() {
	if s.keepsStop {
		<-s.released
	}
}

// A wheel that fails costs wake-ups, and nothing else: neither At nor Close waits for it, and it takes no memory without
// bound. That the loop is in time without it, TestFaultsOfTheWheelDelayNothing of package dispatcher says.
func TestSickWheel(t *testing.T) {
	t.Run("that keeps who adds a timer keeps no caller of At", inBubble(func(t *testing.T) {
		sick := &sickWheel{released: make(chan struct{})}
		sick.add = func(time.Duration, func()) { <-sick.released }
		w := newWaker(NewClock(), tick, func() {}, sick)
		start := time.Now()
		for at := range Tick(10 * maxOrders) {
			w.Set(at)
		}
		wantDuration(t, "At takes", time.Since(start), 0)
		synctest.Wait() // for the first timer to be added
		if w.Close() {
			t.Error("Close says that the wheel has ended")
		}
		wantDuration(t, "Close takes", time.Since(start), stopWait)
		close(sick.released) // so that the bubble can end; a real wheel would keep them for ever
		<-w.stopped
	}))
	t.Run("that cannot stop keeps Close for a second at most", inBubble(func(t *testing.T) {
		sick := &sickWheel{keepsStop: true, released: make(chan struct{})}
		w := newWaker(NewClock(), tick, func() {}, sick)
		for range 2 {
			start := time.Now()
			if w.Close() {
				t.Error("Close says that the wheel has ended")
			}
			wantDuration(t, "Close takes", time.Since(start), stopWait)
		}
		close(sick.released)
		<-w.stopped
	}))
	t.Run("that never fires gets only so many timers", inBubble(func(t *testing.T) {
		sick := &sickWheel{}
		w := newWaker(NewClock(), tick, func() {}, sick)
		for at := range Tick(2 * maxPending) {
			w.Set(at)
			synctest.Wait()
		}
		w.Close()
		if n := sick.added.Load(); n != maxPending {
			t.Errorf("%d timers were added, want %d", n, maxPending)
		}
	}))
	t.Run("that fires gets as many timers as there are ticks", inBubble(func(t *testing.T) {
		well := &sickWheel{add: func(_ time.Duration, task func()) { task() }}
		s := &sleeper{clock: NewClock()}
		w := newWaker(s.clock, tick, s.wake, well)
		for at := range Tick(2 * maxPending) {
			w.Set(at)
			synctest.Wait()
		}
		w.Close()
		if n := len(s.all()); n != 2*maxPending {
			t.Errorf("woken %d times, want %d", n, 2*maxPending)
		}
	}))
	t.Run("that fires at once, after its clock was set back, is asked once for each tick", inBubble(func(t *testing.T) {
		sick := &sickWheel{add: func(_ time.Duration, task func()) { go task() }}
		s := &sleeper{clock: NewClock()}
		w := newWaker(s.clock, tick, s.wake, sick)
		w.Set(100)
		w.Set(200)
		time.Sleep(10 * time.Second)
		w.Close()
		if n := sick.added.Load(); n != 2 || len(s.all()) != 2 {
			t.Errorf("%d timers were added and %d fired, want 2", n, len(s.all()))
		}
	}))
}

func TestWakerCloses(t *testing.T) {
	t.Run("at once when the wheel is well", inBubble(func(t *testing.T) {
		w, s := openWaker(t)
		w.Set(30)
		sleepUntil(s.clock, time.Second)
		start := time.Now()
		if !w.Close() {
			t.Error("Close says that the wheel is stuck")
		}
		wantDuration(t, "Close takes", time.Since(start), 0)
		w.Set(40)
		sleepUntil(s.clock, time.Minute)
		if len(s.all()) != 0 {
			t.Errorf("woken at %v after Close", s.all())
		}
	}))
	t.Run("for several callers", inBubble(func(t *testing.T) {
		w, _ := openWaker(t)
		var closers sync.WaitGroup
		for range 4 {
			closers.Go(func() { w.Close() })
		}
		closers.Wait()
	}))
}
