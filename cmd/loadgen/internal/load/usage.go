package load

import (
	"runtime/metrics"
	"time"
)

// Usage is what a process used.
type Usage struct {
	CPU    time.Duration `json:"cpu_ns"` // of all its threads, in user and kernel; 0: unknown on this system
	Allocs int64         `json:"allocs"` // heap objects
	Bytes  int64         `json:"bytes"`  // of these
}

func (u *Usage) add(o *Usage) {
	u.CPU += o.CPU
	u.Allocs += o.Allocs
	u.Bytes += o.Bytes
}

// usageNow is what this process has used up to now. It stops nothing.
func usageNow() Usage {
	read := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(read)
	return Usage{CPU: cpuTime(), Allocs: int64(read[0].Value.Uint64()), Bytes: int64(read[1].Value.Uint64())}
}

func (u Usage) since(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Allocs - before.Allocs, u.Bytes - before.Bytes}
}
