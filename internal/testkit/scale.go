package testkit

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// defaultScale makes the whole set take about two minutes with -race on two cores.
const defaultScale = 0.02

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
	if err != nil {
		tb.Fatal(err)
	}
	return max(least, int(float64(full)*s))
}

// Lasting is times for durations.
func Lasting(tb testing.TB, full, least time.Duration) time.Duration {
	tb.Helper()
	s, err := Scale()
	if err != nil {
		tb.Fatal(err)
	}
	return max(least, time.Duration(float64(full)*s))
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
