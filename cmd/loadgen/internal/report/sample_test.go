package report

import (
	"fmt"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// aPlan has something of everything.
func aPlan() load.Plan {
	return load.Plan{
		Prefix: "loadgen:X:", Names: 100, Zipf: 0.99, Workers: 4, Hold: time.Millisecond, Lease: time.Second, Wait: time.Minute,
		Handoff: -1, Check: 10, Processes: 2, Duration: 2 * time.Second, Warmup: time.Second, Seed: 7,
	}
}

// aSample is what a process did in a second, and the same each time.
func aSample(process int, phase load.Phase) *load.Sample {
	s := &load.Sample{
		Process: process, Phase: phase, Elapsed: time.Second,
		Counts: load.Counts{Pairs: 1000, Reads: 900, Sections: 1002, Timeouts: 2, Failed: 1, Overstayed: 1, Late: 3, Witnessed: 100, Unwitnessed: 1},
		Engine: load.Engine{Granted: 1000, Handoffs: 250, Attempts: 800, Batches: 90},
		Usage:  usage.Usage{CPU: 5 * time.Millisecond, Allocs: 12_000, Bytes: 1_500_000},
		Errors: map[string]int64{"wheellock: no answer from Redis, the outcome is unknown": 1}, Waiting: 2, Backlog: 4, Goroutines: 30,
	}
	for i := range 1000 {
		d := time.Duration(i+1) * time.Microsecond
		s.Times.Acquire.Record(d)
		s.Times.Readers.Record(d / 2)
		s.Times.Writers.Record(3 * d)
		s.Times.Handover.Record(d / 10)
		s.Times.Across.Record(2 * d)
		s.Times.StartLag.Record(d / 20)
		s.Times.Check.Record(d / 5)
		s.Times.Overtaken.Record(d / 2)
	}
	return s
}

// last is the last sample of the measured time.
func last(process int) *load.Sample {
	s := aSample(process, load.Measured)
	s.Last, s.Callers = true, []int64{900 + int64(process), 1100 - int64(process)}
	return s
}

func ended(process int, e load.Ending) *load.Sample {
	return &load.Sample{Process: process, Phase: load.Drain, Last: true, Ending: &e}
}

// collected is the collector after a run of two processes for two seconds.
func collected() *Collector {
	c := NewCollector(2)
	for process := range 2 {
		for _, s := range []*load.Sample{
			aSample(process, load.WarmUp), aSample(process, load.Measured), last(process), ended(process, load.Ending{GivenUp: 1}),
		} {
			c.Take(s)
		}
		c.Gone(process)
	}
	return c
}

// facts are those of the same run.
func facts() *Facts {
	return &Facts{
		Started: time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC), Plan: aPlan(), SharedMemory: true, Died: map[int]string{},
		Server: Server{Kind: target.Private, Place: "/tmp/redis.sock", Version: "7.0.15", Meaning: "private"},
		Redis: target.Reading{Known: true, Counters: resp.Counters{CPU: 40 * time.Millisecond, Commands: map[string]int64{
			"evalsha": 3000, "hset": 3200, "pexpire": 3200 + 400, "incr": 400, "del": 3100 + 400,
		}}},
	}
}

// broken is the same run with something wrong.
func broken(change func(*Collector, *Facts)) *Result {
	c, f := collected(), facts()
	change(c, f)
	return c.Account(f)
}

func names(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("loadgen:X:%d", i))
	}
	return names
}
