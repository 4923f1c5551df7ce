package reconnect

import (
	"log/slog"
	"time"
)

// Outage tells the log of something that fails again and again: when it begins, once a minute while it lasts, and when it
// is over, however often it is tried meanwhile. One goroutine owns it.
type Outage struct {
	since  time.Time // when it began; zero: all is well
	told   time.Time // the last line
	failed int       // how often since it began
	begun  bool      // its beginning was told
}

const (
	// outageEvery is between two lines about one outage.
	outageEvery = time.Minute
	// outageRest is between lines about outages that follow each other.
	outageRest = time.Second
)

// Failed notes one failure. A line after the first failure also says how long it has lasted and how often it has failed.
func (o *Outage) Failed(logger *slog.Logger, what string, args ...any) {
	now := time.Now()
	if o.since.IsZero() {
		o.since, o.failed = now, 0
	}
	o.failed++
	since := now.Sub(o.told)
	if since < outageRest || o.begun && since < outageEvery {
		return
	}
	if o.failed > 1 {
		args = append(args, "for", now.Sub(o.since).Round(time.Millisecond), "failures", o.failed)
	}
	o.told, o.begun = now, true
	logger.Warn(what, args...)
}

// Over notes the end of the outage, if there is one.
func (o *Outage) Over(logger *slog.Logger, what string, args ...any) {
	if o.since.IsZero() {
		return
	}
	now := time.Now()
	if o.begun {
		logger.Info(what, append(args, "after", now.Sub(o.since).Round(time.Millisecond))...)
		o.told = now
	}
	o.since, o.begun = time.Time{}, false
}
