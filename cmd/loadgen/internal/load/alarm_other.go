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

func (t goTimer) set(d time.Duration) { t.timer.Reset(max(d, 0)) }

func (t goTimer) wait() { <-t.timer.C }

func (t goTimer) close() { t.timer.Stop() }
