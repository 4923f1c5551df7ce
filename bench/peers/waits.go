package main

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longestTracked is above any wait that can happen: longer ones count as this.
const longestTracked = 5 * time.Minute

// newHistogram keeps nanoseconds to three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longestTracked.Nanoseconds(), 3)
}

// waits keeps waiting times from many goroutines, in a few histograms so that callers seldom meet at one.
// A histogram per caller would be 200 MB at 1024 callers.
type waits [8]struct {
	mu        sync.Mutex // guards histogram
	histogram *hdrhistogram.Histogram
	_         [48]byte // a cache line each
}

func newWaits() *waits {
	w := new(waits)
	for i := range w {
		w[i].histogram = newHistogram()
	}
	return w
}

// record notes one wait; shard is any number, best the caller's own.
func (w *waits) record(shard int, waited time.Duration) {
	one := &w[shard%len(w)]
	one.mu.Lock()
	one.histogram.RecordValue(min(max(waited, 1), longestTracked).Nanoseconds())
	one.mu.Unlock()
}

func (w *waits) merged() *hdrhistogram.Histogram {
	all := newHistogram()
	for i := range w {
		w[i].mu.Lock()
		all.Merge(w[i].histogram)
		w[i].mu.Unlock()
	}
	return all
}
