package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// TestRedisPy has a real redis-py do works of one process and of several. make polyglot runs it.
func TestRedisPy(t *testing.T) {
	if os.Getenv("WHEELLOCK_POLYGLOT") == "" {
		t.Skip("SKIPPED: make polyglot runs it. NOT PROVED: that the figures of redis-py can be measured")
	}
	redistest.Require(t, "redis-server", "python3")
	s, err := startServer(t.Context(), "redis-server", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e := redisPyEntry(filepath.Join("..", "..", "internal", "interop", "suites", "polyglot"))
	for _, id := range []string{"distinct-64", "hot-64", "fleet-mutex-2-5ms"} {
		t.Run(id, func(t *testing.T) {
			w, _ := workNamed(id)
			if !e.takesPart(w) {
				t.Fatal("it does not take part")
			}
			checkTurn(t, turn{opts: options{length: 200 * time.Millisecond}, server: s, work: w, entry: e},
				func(one *turn) (measurement, error) { return one.run(t.Context()) })
		})
	}
}
