package wheelotel_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelotel "github.com/wheellock/wheellock/contrib/otel"
)

// discard exports nothing, so that only the making and collecting of spans costs.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                        { return nil }

// What metrics and traces cost a process that does nothing but lock and unlock, which is the most they can cost.
func BenchmarkPairs(b *testing.B) {
	server := redistest.Start(b)
	metrics, err := wheelotel.NewMetrics(wheelotel.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))})
	testkit.Must(b, err)
	plain := testkit.Connect(b, server.Addr())
	measured := testkit.Connect(b, server.Addr(), func(o *engine.Options) { o.Observer = metrics.Observer() })
	traced := func(name string, sampler sdk.Sampler) {
		provider := sdk.NewTracerProvider(sdk.WithBatcher(discard{}), sdk.WithSampler(sampler))
		b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
		tracer := wheelotel.NewTracer(provider)
		testkit.BenchmarkPairs(b, name, func(ctx context.Context, name string) (*wheelotel.Hold, error) {
			return tracer.Lock(ctx, plain.Mutex(name))
		})
	}
	for name, e := range map[string]*engine.Engine{"without": plain, "metrics": measured} {
		testkit.BenchmarkPairs(b, name, func(ctx context.Context, name string) (*engine.Hold, error) { return e.Mutex(name).Lock(ctx) })
	}
	traced("traces, 1 %", sdk.TraceIDRatioBased(0.01))
	traced("traces, all", sdk.AlwaysSample())
}

// The part of the metrics in that: a grant and the end of its hold, on one goroutine.
func BenchmarkObserver(b *testing.B) {
	metrics, _ := newMetrics(b, nil)
	o := metrics.Observer()
	b.ReportAllocs()
	for b.Loop() {
		o.Granted(engine.Grant{Name: "order:4711", Kind: engine.KindMutex, Waited: time.Millisecond})
		o.Ended(engine.End{Name: "order:4711", Kind: engine.KindMutex, Held: time.Millisecond, Err: engine.ErrUnlocked})
	}
}
