// Package wheelprom makes Prometheus metrics of the locks of an engine: how long callers waited, how long locks were held, how
// requests and holds ended, and what the engine counts itself. README.md has the table of the metrics.
//
//	metrics, err := wheelprom.New(wheelprom.Options{})
//	...
//	e, err := engine.Open(ctx, engine.Options{Observer: metrics.Observer()})
//	...
//	metrics.Attach(e)
//	prometheus.MustRegister(metrics)
//
// No label has the name of a lock, because there may be millions of names and each would be a time series for ever. A class, which
// Options.Class makes of a name, stands for it.
//
// dashboard.json is a dashboard for Grafana, alerts.yml has alerting rules.
package wheelprom

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wheellock/wheellock/contrib/internal/classes"
	"github.com/wheellock/wheellock/engine"
)

// Options say how metrics are made. The zero value works.
type Options struct {
	// Class makes the class of a lock out of its name, for the label "class": "order" for "order:4711", for instance. It is
	// called twice for each lock, from many goroutines at once. There should be few classes: the first 100 are told apart,
	// and the rest is "other". If Class panics or returns what is not UTF-8, the class is "invalid". Default nil: all
	// locks are of the class "all".
	Class func(name string) string

	// Buckets are the upper bounds of the buckets of both histograms, in seconds, growing. Default: from 100 µs to 60 s. The alert
	// WheellockSlowWaits needs one of more than its 5 s.
	Buckets []float64
}

var defaultBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// Metrics are the metrics of one engine. It is a [prometheus.Collector]. For several engines make one for each, and register
// them through [prometheus.WrapRegistererWith] with a label that tells the engines apart. Any goroutine may use it.
type Metrics struct {
	wait, hold *prometheus.HistogramVec
	lost       *prometheus.CounterVec
	classes    *classes.Classes[*series]
	engine     atomic.Pointer[engine.Engine] // nil until Attach
}

// New makes metrics. The error says what is wrong with the options.
func New(opts Options) (*Metrics, error) {
	buckets := opts.Buckets
	if len(buckets) == 0 {
		buckets = defaultBuckets
	}
	for i, previous := 0, math.Inf(-1); i < len(buckets); i++ {
		if !(buckets[i] > previous) { // also if it is not a number
			return nil, fmt.Errorf("wheelprom: Buckets %v: must be seconds, each more than the one before; none for the default", buckets)
		}
		previous = buckets[i]
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"kind", "class", "outcome"})
	}
	m := &Metrics{
		wait: histogram("wheellock_lock_wait_seconds", "From a call for a lock to its grant or its error, by outcome."),
		hold: histogram("wheellock_lock_hold_seconds", "From the grant of a lock to the end of the hold, by outcome."),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wheellock_locks_lost_total", Help: "Holds that ended before they were unlocked, except by the engine's Close.",
		}, []string{"kind", "class"}),
	}
	m.classes = classes.New(opts.Class, m.series)
	return m, nil
}

// Observer returns what goes into Options.Observer of the engine. [engine.Observers] combines it with others.
func (m *Metrics) Observer() *engine.Observer {
	return &engine.Observer{
		Granted: func(g engine.Grant) {
			s := m.classes.Get(g.Kind, g.Name)
			if g.Reentry {
				s.wait.WithLabelValues(g.Outcome()).Observe(g.Waited.Seconds())
				return
			}
			s.granted.Observe(g.Waited.Seconds())
		},
		Failed: func(f engine.Failure) {
			m.classes.Get(f.Kind, f.Name).wait.WithLabelValues(f.Outcome()).Observe(f.Waited.Seconds())
		},
		Ended: func(e engine.End) {
			s := m.classes.Get(e.Kind, e.Name)
			switch outcome := e.Outcome(); outcome {
			case "unlocked":
				s.unlocked.Observe(e.Held.Seconds())
			case "lost", "max_hold":
				s.lost.Inc()
				fallthrough
			default:
				s.hold.WithLabelValues(outcome).Observe(e.Held.Seconds())
			}
		},
	}
}

// series are the time series of one kind and class. The usual outcomes are at hand, because a look-up by labels costs more than
// what it is for.
type series struct {
	wait, hold        prometheus.ObserverVec // by outcome
	granted, unlocked prometheus.Observer
	lost              prometheus.Counter
}

// series makes the series of a kind and class. They begin with 0, so that Prometheus sees the first event as an increase.
func (m *Metrics) series(kind engine.Kind, class string) *series {
	labels := prometheus.Labels{"kind": string(kind), "class": class}
	s := &series{wait: m.wait.MustCurryWith(labels), hold: m.hold.MustCurryWith(labels), lost: m.lost.With(labels)}
	s.granted = s.wait.WithLabelValues("granted")
	s.unlocked = s.hold.WithLabelValues("unlocked")
	return s
}
