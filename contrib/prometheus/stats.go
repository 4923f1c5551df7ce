package wheelprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wheellock/wheellock/engine"
)

// stat is a metric that is read from engine.Stats.
type stat struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(engine.Stats) float64
}

func gauge(name, help string, value func(engine.Stats) float64) stat {
	return stat{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value}
}

func counter(name, help string, value func(engine.Stats) int64) stat {
	return stat{prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, func(s engine.Stats) float64 { return float64(value(s)) }}
}

var stats = []stat{
	gauge("wheellock_up", "1 if the link to Redis works, as far as the engine knows, else 0.", func(s engine.Stats) float64 {
		if s.Up {
			return 1
		}
		return 0
	}),
	gauge("wheellock_held", "Holds that have not ended.", func(s engine.Stats) float64 { return float64(s.Held) }),
	gauge("wheellock_waiting", "Requests that are not answered yet.", func(s engine.Stats) float64 { return float64(s.Waiting) }),
	gauge("wheellock_at_risk", "Holds with an overdue renewal: they are lost unless it comes.", func(s engine.Stats) float64 { return float64(s.AtRisk) }),
	gauge("wheellock_oldest_hold_seconds", "How long the oldest living hold has been held; 0 if there is none.", func(s engine.Stats) float64 { return s.OldestHold.Seconds() }),
	gauge("wheellock_narrow", "Masters of a cluster that refuse script calls with names of several hash slots.", func(s engine.Stats) float64 { return float64(s.Narrow) }),
	counter("wheellock_handoffs_total", "Grants without a question to Redis.", func(s engine.Stats) int64 { return s.Handoffs }),
	counter("wheellock_acquires_total", "Acquires sent to Redis.", func(s engine.Stats) int64 { return s.Attempts }),
	counter("wheellock_acquires_taken_total", "Acquires that found another owner, and waited.", func(s engine.Stats) int64 { return s.Waits }),
	counter("wheellock_forgotten_total", "Holds that were dropped without an unlock, with Options.OnForgotten.", func(s engine.Stats) int64 { return s.Forgotten }),
	counter("wheellock_uncertain_total", "Commands whose answer was lost.", func(s engine.Stats) int64 { return s.Uncertain }),
	counter("wheellock_batches_total", "Pipelines sent to Redis.", func(s engine.Stats) int64 { return s.Batches }),
	counter("wheellock_callbacks_overflowed_total", "Callbacks that found no free worker for 50 ms.", func(s engine.Stats) int64 { return s.Overflowed }),
}

// attached shows on the page that Attach was forgotten.
var attached = prometheus.NewDesc("wheellock_attached",
	"1 after Metrics.Attach, else 0: then wheellock_up and the other metrics of an engine's Stats are missing.", nil, nil)

// Attach has the metrics of engine.Stats read from e, which should have m's Observer. Until then they are missing, and
// wheellock_attached is 0. The last engine counts; nil takes it off.
func (m *Metrics) Attach(e *engine.Engine) { m.engine.Store(e) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	m.wait.Describe(descs)
	m.hold.Describe(descs)
	m.lost.Describe(descs)
	descs <- attached
	for _, s := range stats {
		descs <- s.desc
	}
}

// Collect implements prometheus.Collector. It takes one engine.Stats, which looks at all live names.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.wait.Collect(metrics)
	m.hold.Collect(metrics)
	m.lost.Collect(metrics)
	e := m.engine.Load()
	if e == nil {
		metrics <- prometheus.MustNewConstMetric(attached, prometheus.GaugeValue, 0)
		return
	}
	metrics <- prometheus.MustNewConstMetric(attached, prometheus.GaugeValue, 1)
	now := e.Stats()
	for _, s := range stats {
		metrics <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(now))
	}
}
