package wheelotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/wheellock/wheellock/engine"
)

// Attach has the instruments of engine.Stats read from e, which should have m's Observer. Until then they have no values. The last
// engine counts; nil takes it off.
func (m *Metrics) Attach(e *engine.Engine) { m.engine.Store(e) }

// observeStats makes the instruments that are read from engine.Stats, once for all of them at each collection.
func (m *Metrics) observeStats(meter metric.Meter) error {
	var all []metric.Observable
	var errs []error
	var reads []func(metric.Observer, engine.Stats)
	made := func(instrument metric.Observable, err error) {
		all, errs = append(all, instrument), append(errs, err)
	}
	// level goes up and down, counter only up.
	level := func(name, unit, text string, value func(engine.Stats) int64) {
		i, err := meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
		made(i, err)
		reads = append(reads, func(o metric.Observer, s engine.Stats) { o.ObserveInt64(i, value(s)) })
	}
	counter := func(name, unit, text string, value func(engine.Stats) int64) {
		i, err := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
		made(i, err)
		reads = append(reads, func(o metric.Observer, s engine.Stats) { o.ObserveInt64(i, value(s)) })
	}
	level("wheellock.link.up", "1", "1 if the link to Redis works, as far as the engine knows, else 0.", func(s engine.Stats) int64 {
		if s.Up {
			return 1
		}
		return 0
	})
	level("wheellock.lock.held", "{lock}", "Holds that have not ended.", func(s engine.Stats) int64 { return s.Held })
	level("wheellock.lock.waiting", "{request}", "Requests that are not answered yet.", func(s engine.Stats) int64 { return s.Waiting })
	level("wheellock.lock.at_risk", "{lock}", "Holds with an overdue renewal: they are lost unless it comes.", func(s engine.Stats) int64 { return s.AtRisk })
	counter("wheellock.lock.forgotten", "{lock}", "Holds that were dropped without an unlock, with Options.OnForgotten.", func(s engine.Stats) int64 { return s.Forgotten })
	counter("wheellock.lock.handoffs", "{handoff}", "Grants without a question to Redis.", func(s engine.Stats) int64 { return s.Handoffs })
	counter("wheellock.redis.acquires", "{command}", "Acquires sent to Redis.", func(s engine.Stats) int64 { return s.Attempts })
	counter("wheellock.redis.acquires_taken", "{command}", "Acquires that found another owner, and waited.", func(s engine.Stats) int64 { return s.Waits })
	counter("wheellock.redis.uncertain", "{command}", "Commands whose answer was lost.", func(s engine.Stats) int64 { return s.Uncertain })
	counter("wheellock.redis.batches", "{batch}", "Pipelines sent to Redis.", func(s engine.Stats) int64 { return s.Batches })
	counter("wheellock.callbacks.overflowed", "{callback}", "Callbacks that found no free worker for 50 ms.", func(s engine.Stats) int64 { return s.Overflowed })
	level("wheellock.cluster.narrow", "{node}", "Masters of a cluster that refuse script calls with names of several hash slots.",
		func(s engine.Stats) int64 { return s.Narrow })
	oldest, err := meter.Float64ObservableGauge("wheellock.lock.oldest_hold", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest living hold has been held; 0 if there is none."))
	made(oldest, err)
	reads = append(reads, func(o metric.Observer, s engine.Stats) { o.ObserveFloat64(oldest, s.OldestHold.Seconds()) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if e := m.engine.Load(); e != nil {
			now := e.Stats()
			for _, read := range reads {
				read(o, now)
			}
		}
		return nil
	}, all...)
	return err
}
