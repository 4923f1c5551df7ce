package main

import (
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// waits keeps waiting times from many goroutines, in a few histograms so that callers seldom meet at one.
// A histogram per caller would be 200 MB at 1024 callers.
type waits [8]struct {
	mu        sync.Mutex // guards histogram
	histogram figures.Histogram
	_         [48]byte // a cache line each
}

// record notes one wait; shard is any number, best the caller's own.
func (w *waits) record(shard int, waited time.Duration) {
	one := &w[shard%len(w)]
	one.mu.Lock()
	one.histogram.Record(waited)
	one.mu.Unlock()
}

func (w *waits) merged() (all figures.Histogram) {
	for i := range w {
		w[i].mu.Lock()
		all.Add(&w[i].histogram)
		w[i].mu.Unlock()
	}
	return all
}
