// Package usage is what a process takes of the machine.
package usage

import (
	"runtime/metrics"
	"time"
)

// Usage is what a process has used up to a moment, or between two. CPU and MaxRSS are 0 where the system does not tell.
type Usage struct {
	CPU         time.Duration `json:"cpu_ns"`      // of all its threads, in user and kernel
	Allocs      int64         `json:"allocs"`      // heap objects
	Bytes       int64         `json:"bytes"`       // of these
	Collections int64         `json:"collections"` // of garbage
	MaxRSS      int64         `json:"max_rss_kb"`  // the most it ever had resident, or by how much that grew
}

// Now is what this process has used up to now. It stops nothing.
func Now() Usage {
	read := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(read)
	value := func(i int) int64 { return int64(read[i].Value.Uint64()) }
	u := Usage{Allocs: value(0), Bytes: value(1), Collections: value(2)}
	u.CPU, u.MaxRSS = ofSystem()
	return u
}
