package reconnect

import (
	"log/slog"
	"sync"
	"time"
)

// Outage logs that something fails again and again: its beginning, a second later that it goes on, then less and less often
// while it lasts, and its end, however often it is tried meanwhile. Several goroutines may notice it, each under a key of its
// own: the first failure logs the beginning, and the last key to recover logs the end. Any goroutine may use it. The zero
// value is ready.
type Outage struct {
	mu      sync.Mutex       // guards the rest; nothing is logged under it
	failing map[any]struct{} // the keys of those that fail
	since   time.Time        // when it began
	logged  time.Time        // the last line
	pause   time.Duration    // how long no line follows it
	failed  int              // how often since it began
	begun   bool             // its beginning was logged
}

const (
	// outageRest is between the first two lines about one outage, and between lines about outages that follow each other. Each
	// further pause is outageFactor times as long, up to outageEvery: lines come after 1 s, 5 s, 21 s, and then once a minute.
	outageRest   = time.Second
	outageFactor = 4
	outageEvery  = time.Minute
)

// Failed notes one failure. A line after the first failure also says how long it has lasted and how often it has failed.
func (o *Outage) Failed(key any, logger *slog.Logger, what string, args ...any) {
	lasts, failures, log := o.fail(key)
	if !log {
		return
	}
	if failures > 1 {
		args = append(args, "for", lasts.Round(time.Millisecond), "failures", failures)
	}
	logger.Warn(what, args...)
}

// Ended notes that the outage is over for key, if key had failed.
func (o *Outage) Ended(key any, logger *slog.Logger, what string, args ...any) {
	if lasted, failures, log := o.end(key); log {
		logger.Info(what, append(args, "after", lasted.Round(time.Millisecond), "failures", failures)...)
	}
}

// Leave removes key, which will neither fail nor work any more.
func (o *Outage) Leave(key any) { o.end(key) }

func (o *Outage) fail(key any) (lasts time.Duration, failures int, log bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if len(o.failing) == 0 {
		o.since, o.failed, o.pause, o.failing = now, 0, outageRest, make(map[any]struct{})
	}
	o.failing[key] = struct{}{}
	o.failed++
	if log = now.Sub(o.logged) >= o.pause; log {
		if o.begun {
			o.pause = min(o.pause*outageFactor, outageEvery)
		}
		o.logged, o.begun = now, true
	}
	return now.Sub(o.since), o.failed, log
}

func (o *Outage) end(key any) (lasted time.Duration, failures int, log bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, is := o.failing[key]; !is {
		return
	}
	if delete(o.failing, key); len(o.failing) > 0 {
		return
	}
	now := time.Now()
	if log = o.begun; log {
		o.logged, o.begun = now, false
	}
	return now.Sub(o.since), o.failed, log
}

// Outages are those of one engine: what its dispatchers notice of one server is one outage. Any goroutine may use them. Nil Outages
// are those of nobody else.
type Outages struct {
	mu  sync.Mutex // guards the rest
	all map[string]*Outage
}

// Of returns the outage of something, such as the link to a server: the same one to every caller.
func (o *Outages) Of(what string) *Outage {
	if o == nil {
		return &Outage{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[string]*Outage)
	}
	if o.all[what] == nil {
		o.all[what] = &Outage{}
	}
	return o.all[what]
}

// Forget drops an outage that is not needed any more. A caller that has it keeps it; a later call of Of returns another one.
func (o *Outages) Forget(what string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, what)
}
