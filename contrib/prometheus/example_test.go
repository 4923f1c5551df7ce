package wheelprom_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"

	wheelprom "github.com/wheellock/wheellock/contrib/prometheus"
)

// Metrics of locks behind /metrics. The class of a lock is what its name begins with.
func Example() {
	ctx := context.Background()
	redis := enginetest.Start() // in memory; a program calls engine.Open
	defer redis.Close()

	metrics, err := wheelprom.New(wheelprom.Options{Class: func(name string) string {
		class, _, _ := strings.Cut(name, ":")
		return class
	}})
	if err != nil {
		log.Fatal(err)
	}
	e, err := redis.Open(ctx, engine.Options{Observer: metrics.Observer()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	metrics.Attach(e)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	site := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer site.Close()

	hold, err := e.Mutex("stock:7").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	answer, err := http.Get(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "wheellock_lock_wait_seconds_count") || strings.HasPrefix(line, "wheellock_held") {
			fmt.Print(line)
		}
	}
	// Output:
	// wheellock_held 1
	// wheellock_lock_wait_seconds_count{class="stock",kind="mutex",outcome="granted"} 1
}
