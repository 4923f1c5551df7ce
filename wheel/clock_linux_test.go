package wheel

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestSuspendAheadReadsTheKernelsClocks(t *testing.T) {
	if _, ok := readClock(-1 << 30); ok {
		t.Error("a clock that does not exist has been read")
	}
	if now, ok := readClock(unix.CLOCK_MONOTONIC); !ok || now <= 0 {
		t.Errorf("the monotonic clock says %v, %v", now, ok)
	}
	first, ok1 := suspendAhead(time.Time{})
	second, ok2 := suspendAhead(time.Time{})
	if !ok1 || !ok2 {
		t.Skip("five readings in a row were interrupted")
	}
	if first < -suspendBracket || (second-first).Abs() > suspendTolerance {
		t.Errorf("the boot clock is ahead by %v, then by %v", first, second)
	}
}

// Invariant: a suspension that is taken for noise is shorter than the smallest margin of a lease, 5 ms. With a tolerance of
// 10 ms, a hold with a lease of 100 ms outlasted its key by 3 ms after a suspension of 9 ms.
// invariant: clock-counts-suspension
func TestSuspensionOfSomeMillisecondsIsNoticed(t *testing.T) {
	const leastMargin = 5 * time.Millisecond
	if suspendTolerance < suspendBracket || suspendTolerance+suspendBracket >= leastMargin {
		t.Errorf("a tolerance of %v, for readings within %v", suspendTolerance, suspendBracket)
	}
	synctest.Test(t, func(t *testing.T) {
		c, g := plantedClock()
		c.hint = func() time.Duration { return time.Duration(g.ahead.Load()) - 7*time.Hour }
		g.move(4 * time.Millisecond)
		wantDuration(t, "Checked", c.Checked(), 4*time.Millisecond)
	})
}

func TestBracketed(t *testing.T) {
	const offset = time.Hour
	// machine returns two clocks that tick one nanosecond with each reading, and a pause before some of them.
	machine := func(pauses map[int]time.Duration) (mono, boot gauge) {
		var now time.Duration
		readings := 0
		read := func() time.Duration {
			now += 1 + pauses[readings]
			readings++
			return now
		}
		return func() (time.Duration, bool) { return read(), true },
			func() (time.Duration, bool) { return offset + read(), true }
	}
	t.Run("reads the offset of two clocks", func(t *testing.T) {
		if ahead, ok := bracketed(machine(nil)); !ok || ahead != offset+1 {
			t.Errorf("ahead = %v, %v, want %v", ahead, ok, offset+1)
		}
	})
	t.Run("does not believe a reading with a pause inside", func(t *testing.T) {
		for reading := 1; reading <= 2; reading++ {
			ahead, ok := bracketed(machine(map[int]time.Duration{reading: time.Minute}))
			if !ok || ahead != offset+1 {
				t.Errorf("pause before reading %d: ahead = %v, %v, want %v", reading, ahead, ok, offset+1)
			}
		}
	})
	t.Run("believes a reading that took as long as it may", func(t *testing.T) {
		longest := map[int]time.Duration{2: suspendBracket - 2} // the two readings behind the first take a nanosecond each
		for reading := 5; reading < 20; reading += 3 {
			longest[reading] = time.Second
		}
		if ahead, ok := bracketed(machine(longest)); !ok || ahead != offset+1 {
			t.Errorf("ahead = %v, %v, want %v", ahead, ok, offset+1)
		}
		longest[2]++
		if ahead, ok := bracketed(machine(longest)); ok {
			t.Errorf("ahead = %v from a reading that took a nanosecond longer", ahead)
		}
	})
	t.Run("gives up when each reading is paused", func(t *testing.T) {
		pauses := map[int]time.Duration{}
		for reading := range 20 {
			pauses[reading] = time.Second
		}
		if ahead, ok := bracketed(machine(pauses)); ok {
			t.Errorf("ahead = %v from readings with pauses inside", ahead)
		}
	})
	t.Run("gives up when a clock cannot be read", func(t *testing.T) {
		mono, _ := machine(nil)
		if _, ok := bracketed(mono, func() (time.Duration, bool) { return 0, false }); ok {
			t.Error("believed a clock that cannot be read")
		}
	})
}
