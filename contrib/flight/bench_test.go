package flight_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/contrib/flight"
	"github.com/wheellock/wheellock/internal/redistest"
)

// BenchmarkFleet has 24 clients with connections of their own ask at once for a value that takes 50 ms to compute. A turn ends when all
// have it. runs/op is how often the value was computed.
func BenchmarkFleet(b *testing.B) {
	server := redistest.Start(b)
	var fleet []*flight.Group
	for range fleetSize {
		g, _ := newGroup(b, server, flight.Options{Keep: time.Hour})
		fleet = append(fleet, g)
	}
	var runs atomic.Int64
	turn := 0
	for b.Loop() {
		turn++
		key := fmt.Sprint("page:", turn)
		var wg sync.WaitGroup
		for _, g := range fleet {
			wg.Go(func() {
				value, _, err := g.Do(context.Background(), key, func(context.Context) ([]byte, error) {
					runs.Add(1)
					time.Sleep(50 * time.Millisecond) // sleeps: how long the work takes
					return []byte(key), nil
				})
				if string(value) != key || err != nil {
					b.Errorf("%q, %v", value, err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(runs.Load())/float64(turn), "runs/op")
}

// BenchmarkStored gets a value that stands.
func BenchmarkStored(b *testing.B) {
	g, _ := newGroup(b, redistest.Start(b), flight.Options{Keep: time.Hour})
	fn := func(context.Context) ([]byte, error) { return []byte("value"), nil }
	for b.Loop() {
		if _, _, err := g.Do(context.Background(), "page", fn); err != nil {
			b.Fatal(err)
		}
	}
}
