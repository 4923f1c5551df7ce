package wheelotel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	wheelotel "github.com/wheellock/wheellock/contrib/otel"
)

// Metrics and a trace of one lock, here with the exporters of OpenTelemetry that keep all in memory.
func Example() {
	ctx := context.Background()
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()

	metrics, err := wheelotel.NewMetrics(wheelotel.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		log.Fatal(err)
	}
	e, err := redis.Open(ctx, engine.Options{Observer: metrics.Observer()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	metrics.Attach(e)

	tracer := wheelotel.NewTracer(sdk.NewTracerProvider(sdk.WithSyncer(spans)))
	hold, err := tracer.Lock(ctx, e.Mutex("stock:7"))
	if err != nil {
		log.Fatal(err)
	}
	// Work with hold.Context(ctx), whose span is the hold's.
	if err := hold.Unlock(ctx); err != nil {
		log.Fatal(err)
	}

	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	var now metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &now); err != nil {
		log.Fatal(err)
	}
	for _, m := range now.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "wheellock.redis.acquires" {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output:
	// wheellock.wait
	// wheellock.unlock
	// wheellock.hold
	// wheellock.redis.acquires 1
}
