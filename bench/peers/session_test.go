package main

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// TestTurns lets every contestant do a short turn against a real redis-server, in processes of its own.
func TestTurns(t *testing.T) {
	redistest.Require(t, "redis-server")
	s, err := startServer(t.Context(), "redis-server", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	opts := options{length: 200 * time.Millisecond, warmUp: 50 * time.Millisecond}
	for _, id := range []string{"distinct-64", "distinct-async", "hot-2p"} {
		w, _ := workNamed(id)
		for _, e := range contestants() {
			if !e.takesPart(w) {
				continue
			}
			t.Run(id+"/"+e.name, func(t *testing.T) {
				var r Result
				for opts := opts; ; opts.length *= 4 { // a busy machine may not finish a pair in a short turn
					turn := session{opts: opts, server: s, work: w, entry: e}
					measured, err := turn.run(t.Context())
					if r = newResult(w, e, 1, measured, err); r.PairsPerSecond > 0 || r.Failed > 0 || opts.length > 3*time.Second {
						break
					}
				}
				if r.Void != "" || r.Failed > 0 {
					t.Fatal(r.line())
				}
				if r.Commands <= 0 || r.RedisCPU <= 0 || r.ClientCPU <= 0 {
					t.Errorf("no cost was measured: %+v", r)
				}
			})
		}
	}
}
