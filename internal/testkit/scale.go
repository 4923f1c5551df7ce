package testkit

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// defaultScale makes the whole set take about a minute with -race on two cores.
const defaultScale = 0.005

// Scale is how much of a full run the tests do: WHEELLOCK_SCALE, over 0 and at most 100.
var Scale = sync.OnceValues(func() (float64, error) {
	text := os.Getenv("WHEELLOCK_SCALE")
	if text == "" {
		return defaultScale, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err == nil && (s <= 0 || s > 100) {
		err = errors.New("WHEELLOCK_SCALE must be over 0 and at most 100")
	}
	return s, err
})

// Times is how often to do what a full run does full times; never fewer than least.
func Times(tb testing.TB, full, least int) int {
	tb.Helper()
	s, err := Scale()
	Must(tb, err)
	return max(least, int(float64(full)*s))
}

// Reached reports whether a count has come to want, or has stood still for Patience: however slow a machine is, it goes on. Any
// goroutine may ask.
func Reached(want int64, count func() int64) func() bool {
	var mu sync.Mutex // guards the rest
	last, since := count(), time.Now()
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		if now := count(); now != last {
			last, since = now, time.Now()
		}
		return last >= want || time.Since(since) > Patience
	}
}

// Every does it again and again, d apart, until stop is called or the test ends.
func Every(tb testing.TB, d time.Duration, do func()) (stop func()) {
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-stopping:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	stop = sync.OnceFunc(func() { close(stopping); <-stopped })
	tb.Cleanup(stop)
	return stop
}
