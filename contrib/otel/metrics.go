// Package wheelotel makes OpenTelemetry metrics and traces of the locks of an engine. README.md has the tables of instruments and spans.
//
// Metrics are made of what an Observer is told and of engine.Stats:
//
//	metrics, err := wheelotel.NewMetrics(wheelotel.Options{})
//	...
//	e, err := engine.Open(ctx, engine.Options{Observer: metrics.Observer()})
//	...
//	metrics.Attach(e)
//
// An Observer is told of a request after it has ended and without its context, so it cannot make spans. A Tracer calls Lock for the
// caller and makes the spans around it:
//
//	tracer := wheelotel.NewTracer(nil)
//	hold, err := tracer.Lock(ctx, e.Mutex("stock:7"))
//	...
//	defer hold.Unlock(ctx)
//	work(hold.Context(ctx)) // its spans are children of the hold's
package wheelotel

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/wheellock/wheellock/contrib/internal/classes"
	"github.com/wheellock/wheellock/engine"
)

// scope is the instrumentation scope of all spans and instruments.
const scope = "github.com/wheellock/wheellock/contrib/otel"

// The attributes of spans and instruments. The name of a lock is an attribute of spans only.
const (
	nameKey    = attribute.Key("wheellock.lock.name")
	kindKey    = attribute.Key("wheellock.lock.kind")
	classKey   = attribute.Key("wheellock.lock.class")
	ownerKey   = attribute.Key("wheellock.lock.owner")
	tokenKey   = attribute.Key("wheellock.lock.token")
	outcomeKey = attribute.Key("wheellock.outcome")
)

// Options say how metrics are made. The zero value works.
type Options struct {
	// MeterProvider makes the instruments. Default nil: otel's global one.
	MeterProvider metric.MeterProvider

	// Class makes the class of a lock out of its name, for the attribute "wheellock.lock.class": "order" for "order:4711", for
	// instance. It is called twice for each lock, from many goroutines at once. There should be few classes: the first 100 are told
	// apart, and the rest is "other". If Class panics or returns what is not UTF-8, the class is "invalid". Default nil: all locks
	// are of the class "all".
	Class func(name string) string
}

// Metrics are the instruments of one engine. Those of several engines with one MeterProvider are added up; README.md says how to keep them
// apart. Any goroutine may use it.
type Metrics struct {
	wait, hold metric.Float64Histogram
	lost       metric.Int64Counter
	classes    *classes.Classes[*attributes]
	engine     atomic.Pointer[engine.Engine] // nil until Attach
}

// NewMetrics makes the instruments. The error is that of the MeterProvider.
func NewMetrics(opts Options) (*Metrics, error) {
	provider := opts.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	meter := provider.Meter(scope)
	var errs []error
	histogram := func(name, text string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithDescription(text), metric.WithUnit("s"),
			metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60))
		errs = append(errs, err)
		return h
	}
	m := &Metrics{
		wait: histogram("wheellock.lock.wait.duration", "From a call for a lock to its grant or its error."),
		hold: histogram("wheellock.lock.hold.duration", "From the grant of a lock to the end of the hold."),
	}
	var err error
	m.lost, err = meter.Int64Counter("wheellock.lock.lost", metric.WithUnit("{lock}"),
		metric.WithDescription("Holds that ended before they were unlocked, except by the engine's Close."))
	m.classes = classes.New(opts.Class, m.attributes)
	if err := errors.Join(append(errs, err, m.observeStats(meter))...); err != nil {
		return nil, err
	}
	return m, nil
}

// Observer returns what goes into Options.Observer of the engine. [engine.Observers] combines it with others. Measurements have no
// context, so they have no exemplars.
func (m *Metrics) Observer() *engine.Observer {
	ctx := context.Background()
	return &engine.Observer{
		Granted: func(g engine.Grant) {
			m.wait.Record(ctx, g.Waited.Seconds(), m.classes.Get(g.Kind, g.Name).with(g.Outcome())...)
		},
		Failed: func(f engine.Failure) {
			m.wait.Record(ctx, f.Waited.Seconds(), m.classes.Get(f.Kind, f.Name).with(f.Outcome())...)
		},
		Ended: func(e engine.End) {
			a, outcome := m.classes.Get(e.Kind, e.Name), e.Outcome()
			m.hold.Record(ctx, e.Held.Seconds(), a.with(outcome)...)
			if outcome == "lost" || outcome == "max_hold" {
				m.lost.Add(ctx, 1, metric.WithAttributeSet(a.set))
			}
		},
	}
}

// attributes are those of one kind and class. The sets of the usual outcomes are at hand, because to make one costs more than
// what it is for.
type attributes struct {
	kind, class       attribute.KeyValue
	set               attribute.Set
	granted, unlocked []metric.RecordOption
}

// attributes makes those of a kind and class. Its lost locks begin with 0, so that a backend sees the first one as an increase.
func (m *Metrics) attributes(kind engine.Kind, class string) *attributes {
	a := &attributes{kind: kindKey.String(string(kind)), class: classKey.String(class)}
	a.set = attribute.NewSet(a.kind, a.class)
	a.granted, a.unlocked = a.and("granted"), a.and("unlocked")
	m.lost.Add(context.Background(), 0, metric.WithAttributeSet(a.set))
	return a
}

// with returns the attributes with an outcome.
func (a *attributes) with(outcome string) []metric.RecordOption {
	switch outcome {
	case "granted":
		return a.granted
	case "unlocked":
		return a.unlocked
	}
	return a.and(outcome)
}

func (a *attributes) and(outcome string) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(a.kind, a.class, outcomeKey.String(outcome)))}
}
