package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// A turn goes through these phases; only what happens while measuring counts.
type phase int32

const (
	warming phase = iota
	measuring
	stopped
)

// meter counts what the callers of one process do. Any goroutine may call its methods, except start and stop.
type meter struct {
	phase   atomic.Int32
	born    time.Time // the zero of now
	shared  shared
	names   names
	inside  time.Duration // that a caller keeps the lock
	process int           // which of those of the turn this is
	waits   waits
	callers []caller
	pairs   atomic.Int64 // of load that has no callers
	failed  atomic.Int64
	failure atomic.Pointer[string] // the first
	lost    atomic.Int64           // hand-overs that did not come
	broken  atomic.Int64           // times that exclusion did not hold
	breach  atomic.Pointer[string] // the first

	// Owned by the goroutine that calls start and stop.
	began time.Time
	used  usage.Usage // until then
}

func newMeter(callers int, n names, s shared) *meter {
	m := &meter{born: time.Now(), names: n, shared: s, callers: make([]caller, callers)}
	for i := range m.callers {
		m.callers[i].init(m, i)
	}
	return m
}

// now is nanoseconds since the meter was made, and never 0.
func (m *meter) now() int64 { return time.Since(m.born).Nanoseconds() + 1 }

func (m *meter) is(p phase) bool { return phase(m.phase.Load()) == p }

// fail notes an error that a caller got. After the end everybody is told to stop, and that is no failure.
func (m *meter) fail(err error) {
	if !m.is(measuring) {
		return
	}
	m.failed.Add(1)
	text := err.Error()
	m.failure.CompareAndSwap(nil, &text)
}

// violate notes that a lock did not exclude. It counts in every phase.
func (m *meter) violate(what string) {
	m.broken.Add(1)
	m.breach.CompareAndSwap(nil, &what)
}

// start begins the measured part.
func (m *meter) start() {
	m.began, m.used = time.Now(), usage.Now()
	m.phase.Store(int32(measuring))
}

// stop ends the measured part. Callers that still wait at that moment count with the time they have waited so far:
// without them a starved caller would not be seen at all.
func (m *meter) stop() sample {
	m.phase.Store(int32(stopped))
	now := m.now()
	out := sample{
		Process: m.process, Seconds: time.Since(m.began).Seconds(), Usage: usage.Now(), Goroutines: runtime.NumGoroutine(),
		Pairs: m.pairs.Load(), Failed: m.failed.Load(), Lost: m.lost.Load(), Broken: m.broken.Load(),
	}
	m.used.MaxRSS = 0 // it counts from the start of the process
	figures.Subtract(&out.Usage, &m.used)
	for i := range m.callers {
		pairs := m.callers[i].pairs.Load()
		out.Pairs += pairs
		out.CallerPairs = append(out.CallerPairs, pairs)
		out.Handovers += m.callers[i].handovers.Load()
		if since := m.callers[i].since.Load(); since > 0 {
			m.waits.record(i, time.Duration(now-since))
		}
	}
	if first := m.failure.Load(); first != nil {
		out.Failure = *first
	}
	if first := m.breach.Load(); first != nil {
		out.Breach = *first
	}
	out.Waits = m.waits.merged()
	return out
}
