package reconnect

import (
	"log/slog"
	"time"
)

// Outage logs that something fails again and again: its beginning, a second later that it goes on, then less and less often
// while it lasts, and its end, however often it is tried meanwhile. One goroutine owns it. The zero value is ready.
type Outage struct {
	since  time.Time     // when it began; zero: all is well
	logged time.Time     // the last line
	pause  time.Duration // how long no line follows it
	failed int           // how often since it began
	begun  bool          // its beginning was logged
}

const (
	// outageRest is between the first two lines about one outage, and between lines about outages that follow each other. Each
	// further pause is outageFactor times as long, up to outageEvery: lines come after 1 s, 5 s, 21 s, and then once a minute.
	outageRest   = time.Second
	outageFactor = 4
	outageEvery  = time.Minute
)

// Failed notes one failure. A line after the first failure also says how long it has lasted and how often it has failed.
func (o *Outage) Failed(logger *slog.Logger, what string, args ...any) {
	now := time.Now()
	if o.since.IsZero() {
		o.since, o.failed, o.pause = now, 0, outageRest
	}
	o.failed++
	if now.Sub(o.logged) < o.pause {
		return
	}
	if o.begun {
		o.pause = min(o.pause*outageFactor, outageEvery)
	}
	o.logged, o.begun = now, true
	if o.failed > 1 {
		args = append(args, "for", now.Sub(o.since).Round(time.Millisecond), "failures", o.failed)
	}
	logger.Warn(what, args...)
}

// Ended notes that the outage is over, if there is one.
func (o *Outage) Ended(logger *slog.Logger, what string, args ...any) {
	now := time.Now()
	if o.begun {
		o.logged, o.begun = now, false
		logger.Info(what, append(args, "after", now.Sub(o.since).Round(time.Millisecond), "failures", o.failed)...)
	}
	o.since = time.Time{}
}
