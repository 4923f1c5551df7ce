//go:build !linux

package load

import "time"

// goTimer is a timer of the runtime's: it may be a millisecond late.
type goTimer struct{ timer *time.Timer }

func newAlarm() (alarm, error) {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return goTimer{t}, nil
}

func (g goTimer) set(d time.Duration) { g.timer.Reset(max(d, 0)) }

func (g goTimer) wait() { <-g.timer.C }

func (g goTimer) close() { g.timer.Stop() }
