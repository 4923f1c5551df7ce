package wheel

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// plantedGauge is a gauge a test moves by hand.
type plantedGauge struct {
	ahead  atomic.Int64
	broken atomic.Bool
}

func (p *plantedGauge) read() (time.Duration, bool) {
	return time.Duration(p.ahead.Load()), !p.broken.Load()
}

func (p *plantedGauge) move(by time.Duration) { p.ahead.Add(int64(by)) }

func plantedClock() (*Clock, *plantedGauge) {
	g := new(plantedGauge)
	g.move(7 * time.Hour) // as the machine happens to have slept before: only changes count
	return newClock(time.Now(), g.read), g
}

func wantDuration(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestClock(t *testing.T) {
	t.Run("counts from its start", inBubble(func(t *testing.T) {
		c := NewClock()
		wantDuration(t, "Now", c.Now(), 0)
		time.Sleep(90 * time.Minute)
		wantDuration(t, "Now", c.Now(), 90*time.Minute)
	}))
	t.Run("adds suspension once a check has found it", inBubble(func(t *testing.T) {
		c, g := plantedClock()
		time.Sleep(time.Second)
		wantDuration(t, "Check", c.Check(), 0)
		g.move(time.Hour)
		wantDuration(t, "Now before the check", c.Now(), time.Second)
		wantDuration(t, "Check", c.Check(), time.Hour)
		wantDuration(t, "Now", c.Now(), time.Hour+time.Second)
		wantDuration(t, "Check again", c.Check(), 0)
		g.move(3 * time.Second)
		wantDuration(t, "Check", c.Check(), 3*time.Second)
		wantDuration(t, "suspended", c.found(), time.Hour+3*time.Second)
	}))
	t.Run("takes a difference up to the tolerance for noise", inBubble(func(t *testing.T) {
		c, g := plantedClock()
		for range 100 {
			g.move(suspendTolerance)
			wantDuration(t, "Check", c.Check(), 0)
		}
		g.move(suspendTolerance + 1)
		wantDuration(t, "Check", c.Check(), suspendTolerance+1)
	}))
	t.Run("never goes back when the gauge does", inBubble(func(t *testing.T) {
		c, g := plantedClock()
		g.move(-time.Hour)
		wantDuration(t, "Check", c.Check(), 0)
		wantDuration(t, "Now", c.Now(), 0)
		g.move(2 * time.Second)
		wantDuration(t, "Check", c.Check(), 2*time.Second)
	}))
	t.Run("finds later what a broken gauge did not show", inBubble(func(t *testing.T) {
		c, g := plantedClock()
		g.broken.Store(true)
		g.move(time.Hour)
		wantDuration(t, "Check", c.Check(), 0)
		g.broken.Store(false)
		wantDuration(t, "Check", c.Check(), time.Hour)
	}))
	t.Run("does not take the first reading of a gauge for suspension", inBubble(func(t *testing.T) {
		g := new(plantedGauge)
		g.move(time.Hour)
		g.broken.Store(true)
		c := newClock(time.Now(), g.read)
		g.broken.Store(false)
		wantDuration(t, "Check", c.Check(), 0)
		g.move(time.Minute)
		wantDuration(t, "Check", c.Check(), time.Minute)
	}))
	t.Run("sees no suspension in a bubble, whose time runs ahead of the machine's", inBubble(func(t *testing.T) {
		c := NewClock()
		for range 100 {
			time.Sleep(time.Hour)
			wantDuration(t, "Check", c.Check(), 0)
		}
		wantDuration(t, "Now", c.Now(), 100*time.Hour)
	}))
}

func TestClockTime(t *testing.T) {
	t.Run("is the instant for users, monotonic and wall", inBubble(func(t *testing.T) {
		c := NewClock()
		deadline := c.Time(10 * time.Second)
		time.Sleep(4 * time.Second)
		wantDuration(t, "time.Until(deadline)", time.Until(deadline), 6*time.Second)
		wantDuration(t, "wall time until the deadline", deadline.Round(0).Sub(time.Now().Round(0)), 6*time.Second)
		if again := c.Time(10 * time.Second); !again.Equal(deadline) {
			t.Errorf("Time of the same instant = %v, then %v", deadline, again)
		}
	}))
	t.Run("comes nearer by the suspension found", inBubble(func(t *testing.T) {
		c, g := plantedClock()
		g.move(time.Minute)
		c.Check()
		wantDuration(t, "time.Until", time.Until(c.Time(90*time.Second)), 30*time.Second)
	}))
}

func TestClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ahead time.Duration
	c := newClock(time.Now(), func() (time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		ahead += time.Duration(rand.Int64N(int64(3*suspendTolerance))) - suspendTolerance
		return ahead, true
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for last, i := time.Duration(0), 0; i < 5000; i++ {
				c.Check()
				now := c.Now()
				if now < last {
					t.Errorf("Now = %v after %v", now, last)
				}
				last = now
			}
		})
	}
	wg.Wait()
}

// inBubble makes a subtest that runs in a synctest bubble.
func inBubble(test func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// Invariant: suspension is noticed before a lease is trusted, not at the next check a second later.
// invariant: clock-counts-suspension
func TestClockNoticesSuspensionBeforeALeaseIsTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, g := plantedClock()
		apart := time.Duration(0)
		c.hint = func() time.Duration { return apart }
		time.Sleep(time.Second)
		wantDuration(t, "Checked", c.Checked(), time.Second)

		g.move(time.Minute) // the machine was suspended, which moves the wall clock away from the monotonic one
		apart = time.Minute
		wantDuration(t, "Checked after suspension", c.Checked(), time.Minute+time.Second)

		apart += time.Hour // the wall clock is set: a sign of suspension, and no suspension
		wantDuration(t, "Checked after the wall clock was set", c.Checked(), time.Minute+time.Second)
	})
}

// A sign of suspension is noted when the suspension is counted. Whoever looks in between sees the sign, too, and waits for the count.
// invariant: clock-counts-suspension
func TestASuspensionIsNotedWhenItIsCounted(t *testing.T) {
	other := make(chan time.Duration, 1)
	var c *Clock
	read := false
	c = newClock(time.Now(), func() (time.Duration, bool) {
		switch {
		case c == nil:
			return 0, true
		case read:
			return time.Hour, true
		}
		read = true
		go func() { other <- c.Checked() }()
		select {
		case now := <-other: // it did not wait
			other <- now
		case <-time.After(50 * time.Millisecond): // it waits, or has not begun; both are right
		}
		return time.Hour, true
	})
	c.hint = func() time.Duration { return time.Hour }
	for _, now := range []time.Duration{c.Checked(), <-other} {
		if now < time.Hour {
			t.Errorf("the clock says %v after a suspension of an hour", now)
		}
	}
}

// The look is dear, so it is taken only when the clocks have moved apart since the last one.
func TestClockLooksOnlyAtASign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		c := newClock(time.Now(), func() (time.Duration, bool) { looks++; return 0, true })
		looks = 0
		for range 10 {
			time.Sleep(time.Hour)
			c.Checked()
		}
		if looks != 0 {
			t.Errorf("%d looks while the clocks agree", looks)
		}
		for _, apart := range []time.Duration{time.Minute, -time.Minute} {
			c.hint = func() time.Duration { return apart }
			looks = 0
			for range 10 {
				c.Checked()
			}
			if looks != 1 {
				t.Errorf("%d looks after the clocks have come apart by %v, want 1", looks, apart)
			}
		}
	})
}
