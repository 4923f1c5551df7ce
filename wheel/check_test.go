package wheel

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/RussellLuo/timingwheel"
)

// countingWheel counts the timers armed.
type countingWheel struct {
	timers
	armed, longest atomic.Int64
}

func (w *countingWheel) AfterFunc(delay time.Duration, task func()) *timingwheel.Timer {
	w.armed.Add(1)
	w.longest.Store(max(w.longest.Load(), int64(delay)))
	return w.timers.AfterFunc(delay, task)
}

// sickWheel behaves as the timing wheel does when its faults are reached. The tasks it was given can be run
// by the test.
type sickWheel struct {
	arm       func(delay time.Duration, task func()) // nil: takes the timer and never fires
	keepsStop bool                                   // Stop returns only when released
	released  chan struct{}

	mu    sync.Mutex
	tasks []func()
	armed atomic.Int64
}

func (w *sickWheel) Start() {}

func (w *sickWheel) AfterFunc(delay time.Duration, task func()) *timingwheel.Timer {
	w.armed.Add(1)
	w.mu.Lock()
	w.tasks = append(w.tasks, task)
	w.mu.Unlock()
	if w.arm != nil {
		w.arm(delay, task)
	}
	return nil
}

func (w *sickWheel) Stop() {
	if w.keepsStop {
		<-w.released
	}
}

// patient is an alarm whose first wheel is sick and whose others are well.
type patient struct {
	*Alarm
	bell  *bell
	gauge *plantedGauge // how far the machine's suspension has brought the clock ahead
	wall  atomic.Int64  // how far the wall clock has jumped
}

func openPatient(t *testing.T, sick timers) *patient {
	clock, gauge := plantedClock()
	p := &patient{bell: &bell{clock: clock}, gauge: gauge}
	first := true
	p.Alarm = newAlarm(clock, tick, nil, func() timers {
		if first {
			first = false
			return sick
		}
		return newTimingWheel()
	}, func() time.Duration { return time.Duration(p.wall.Load()) })
	t.Cleanup(p.Close)
	return p
}

func (p *patient) wantReplaced(t *testing.T, want int64) {
	t.Helper()
	if got := p.Replaced(); got != want {
		t.Errorf("the wheel was replaced %d times, want %d", got, want)
	}
}

func TestStuckWheelIsReplaced(t *testing.T) {
	released := func(t *testing.T) chan struct{} {
		c := make(chan struct{})
		t.Cleanup(func() { close(c) }) // so that the bubble can end; a real wheel would keep them for ever
		return c
	}
	for name, sicken := range map[string]func(w *sickWheel){
		"that never fires":                  func(w *sickWheel) {},
		"that never fires and cannot stop":  func(w *sickWheel) { w.keepsStop = true },
		"that keeps who arms it":            func(w *sickWheel) { w.arm = func(time.Duration, func()) { <-w.released } },
		"that fires late by a whole minute": func(w *sickWheel) { w.arm = afterFunc(time.Minute) },
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			sick := &sickWheel{released: released(t)}
			sicken(sick)
			p := openPatient(t, sick)
			p.Set(4, p.bell)
			p.Set(30, p.bell)
			sleepUntil(p.bell.clock, 2*checkInterval)
			p.bell.wantRings(t, checkInterval, 4, 30) // rung by the check itself
			p.wantReplaced(t, 1)

			p.Set(100, p.bell)
			p.Set(Ceil(5*time.Minute, tick), p.bell)
			sleepUntil(p.bell.clock, time.Hour)
			p.bell.wantRings(t, checkInterval, 4, 30, 100, Ceil(5*time.Minute, tick))
			for _, r := range p.bell.rung()[2:] {
				if late := r.at - r.tick.Begin(tick); late > onTime {
					t.Errorf("on the new wheel tick %d rings %v late, want at most %v", r.tick, late, onTime)
				}
			}
			p.wantReplaced(t, 1)
		}))
	}
	t.Run("that was well for a while", inBubble(func(t *testing.T) {
		var stuck atomic.Bool
		p := openPatient(t, &sickWheel{arm: func(delay time.Duration, task func()) {
			if !stuck.Load() {
				time.AfterFunc(delay, task)
			}
		}})
		sleepUntil(p.bell.clock, time.Minute)
		p.wantReplaced(t, 0)
		stuck.Store(true)
		sleepUntil(p.bell.clock, time.Minute+5*checkInterval)
		p.wantReplaced(t, 1)
	}))
	t.Run("with all alarms that were armed on it", inBubble(func(t *testing.T) {
		p := openPatient(t, &sickWheel{})
		var ticks []Tick
		for at := Tick(100); at < 2000; at += 37 { // beyond the horizon of the table, too
			ticks = append(ticks, at)
			p.Set(at, p.bell)
		}
		sleepUntil(p.bell.clock, 5*time.Minute)
		p.bell.wantRings(t, onTime, ticks...)
	}))
	t.Run("and its late timers are ignored", inBubble(func(t *testing.T) {
		sick := &sickWheel{}
		p := openPatient(t, sick)
		p.Set(200, p.bell)
		sleepUntil(p.bell.clock, 4*time.Second)
		p.wantReplaced(t, 1)
		for _, task := range sick.tasks {
			task()
		}
		synctest.Wait()
		p.bell.wantRings(t, 0)
		sleepUntil(p.bell.clock, time.Minute)
		p.bell.wantRings(t, onTime, 200)
		p.wantReplaced(t, 1)
	}))
	t.Run("and Close waits for it a second at most", inBubble(func(t *testing.T) {
		p := openPatient(t, &sickWheel{keepsStop: true, released: released(t)})
		for range 2 { // also when the sick wheel is a former one
			start := time.Now()
			p.Close()
			wantDuration(t, "Close takes", time.Since(start), stopWait)
			p = openPatient(t, &sickWheel{keepsStop: true, released: released(t)})
			sleepUntil(p.bell.clock, 10*time.Second)
			p.wantReplaced(t, 1)
		}
	}))
}

func TestWallClockJumpReplacesTheWheel(t *testing.T) {
	for name, jump := range map[string]time.Duration{
		"back":    -5 * time.Second,
		"forward": time.Hour,
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			// A well wheel, whose wall clock only seems to jump: both must be told to stop, and end.
			p := openPatient(t, newTimingWheel())
			p.Set(100, p.bell)
			sleepUntil(p.bell.clock, 2500*time.Millisecond)
			p.wantReplaced(t, 0)
			p.wall.Add(int64(jump))
			sleepUntil(p.bell.clock, 3*time.Second)
			p.wantReplaced(t, 1)
			sleepUntil(p.bell.clock, time.Hour)
			p.bell.wantRings(t, onTime, 100)
			p.wantReplaced(t, 1)
		}))
	}
	t.Run("not when it is corrected a little all the time", inBubble(func(t *testing.T) {
		p := openPatient(t, newTimingWheel())
		time.Sleep(checkInterval / 2)
		for range 100 {
			p.wall.Add(int64(jumpTolerance))
			time.Sleep(checkInterval)
		}
		p.wantReplaced(t, 0)
	}))
	t.Run("and no alarm rings early or in a hot loop on a wheel that fires at once", inBubble(func(t *testing.T) {
		// So does the timing wheel, with all that is armed after its clock was set back.
		sick := &sickWheel{arm: func(_ time.Duration, task func()) { go task() }}
		p := openPatient(t, sick)
		p.Set(10, p.bell)
		p.Set(100, p.bell)
		sleepUntil(p.bell.clock, 10*time.Second)
		p.bell.wantRings(t, checkInterval, 10, 100)
		p.wantReplaced(t, 1)
		if n := sick.armed.Load(); n > 3 { // two alarms and the heartbeat
			t.Errorf("%d timers armed, want at most 3", n)
		}
	}))
	t.Run("nor when that begins late in its life", inBubble(func(t *testing.T) {
		sick := &sickWheel{arm: func(_ time.Duration, task func()) { go task() }}
		p := openPatient(t, sick)
		sleepUntil(p.bell.clock, time.Minute)
		at := Ceil(time.Minute+5*time.Second, tick)
		p.Set(at, p.bell)
		sleepUntil(p.bell.clock, 2*time.Minute)
		p.bell.wantRings(t, onTime, at)
		p.wantReplaced(t, 1)
	}))
	t.Run("and of the wheels replaced only those are kept that have not ended", inBubble(func(t *testing.T) {
		p := openPatient(t, newTimingWheel())
		for range 5 {
			p.wall.Add(int64(time.Hour))
			time.Sleep(2 * checkInterval)
		}
		p.wantReplaced(t, 5)
		p.Close()
		if n := len(p.former); n > 1 {
			t.Errorf("%d former wheels are kept, want one at most", n)
		}
	}))
	t.Run("and alarms are on time while it is slewed", inBubble(func(t *testing.T) {
		hasty := &sickWheel{arm: func(delay time.Duration, task func()) { time.AfterFunc(delay*9/10, task) }}
		p := openPatient(t, hasty)
		p.Set(405, p.bell) // between two checks, which would ring it, too
		sleepUntil(p.bell.clock, time.Minute)
		p.bell.wantRings(t, onTime, 405)
		p.wantReplaced(t, 0)
	}))
}

func TestSuspensionRingsWhatIsOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPatient(t, newTimingWheel())
		begin := Ceil(time.Hour, tick)
		p.Set(begin, p.bell)
		sleepUntil(p.bell.clock, 2500*time.Millisecond)
		p.gauge.move(time.Hour)
		p.wall.Add(int64(time.Hour))
		time.Sleep(500 * time.Millisecond) // the next check
		synctest.Wait()
		p.bell.wantRings(t, 3*time.Second, begin)
		p.wantReplaced(t, 1)
	})
}

// afterFunc fires timers so much too late.
func afterFunc(late time.Duration) func(time.Duration, func()) {
	return func(delay time.Duration, task func()) { time.AfterFunc(delay+late, task) }
}
