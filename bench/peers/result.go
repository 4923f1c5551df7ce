package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Result is one turn as it stands in results.json. Times are microseconds; figures "per pair" are means.
type Result struct {
	Work       string `json:"work"`
	Contestant string `json:"contestant"`
	Round      int    `json:"round"`
	Void       string `json:"void,omitempty"` // why none of the figures counts

	PairsPerSecond float64            `json:"pairs_per_second"`
	Wait           Waits              `json:"wait_us"`
	JainCallers    float64            `json:"jain_callers,omitempty"`   // 1: all had the same number of pairs; 1/n: one had all
	JainProcesses  float64            `json:"jain_processes,omitempty"` // likewise
	ClientCPU      float64            `json:"client_cpu_us_per_pair"`
	RedisCPU       float64            `json:"redis_cpu_us_per_pair"`
	Commands       float64            `json:"commands_per_pair"`        // that the client sent
	Calls          map[string]float64 `json:"calls_per_pair,omitempty"` // by command, also inside scripts
	NetIn          float64            `json:"bytes_to_redis_per_pair"`
	NetOut         float64            `json:"bytes_from_redis_per_pair"`
	Allocations    float64            `json:"allocations_per_pair"`
	Bytes          float64            `json:"allocated_bytes_per_pair"`
	Collections    uint32             `json:"garbage_collections"`
	Goroutines     int                `json:"goroutines"`
	MaxRSSKB       int64              `json:"max_rss_kb"`
	Failed         int64              `json:"failed"` // calls that ended with an error
	Failure        string             `json:"first_failure,omitempty"`
	Lost           int64              `json:"lost_handovers"` // the lock was free for a second, and its waiter slept
}

// Waits are times from the call to the grant; of the hand-over, from the unlock to the grant.
type Waits struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"` // also of callers that were still waiting at the end
}

// newResult puts what was measured in relation to the pairs.
func newResult(w work, e entry, round int, m measurement, err error) Result {
	r := Result{Work: w.ID, Contestant: e.name, Round: round}
	waits := newHistogram()
	var total sample
	var byCaller, byProcess []float64
	for _, one := range m.samples {
		if one.Broken > 0 {
			err = errors.Join(err, fmt.Errorf("NO EXCLUSION, %d times: %s", one.Broken, one.Breach))
		}
		err = errors.Join(err, mergeWaits(waits, one.Waits))
		total.add(one)
		r.PairsPerSecond += float64(one.Pairs) / one.Seconds
		byProcess = append(byProcess, float64(one.Pairs))
		for _, n := range one.CallerPairs {
			byCaller = append(byCaller, float64(n))
		}
	}
	if err == nil && total.Pairs == 0 {
		err = fmt.Errorf("no pair was finished; first failure: %q", total.Failure)
	}
	if err != nil {
		r.Void = err.Error()
		return r
	}
	if w.Hot > 0 {
		r.JainCallers, r.JainProcesses = jain(byCaller), jain(byProcess)
	}
	r.Wait = readWaits(waits)
	if m.stated != nil {
		r.Wait = *m.stated
	}
	r.Collections, r.Goroutines, r.MaxRSSKB = total.Collections, total.Goroutines, total.MaxRSSKB
	r.Failed, r.Failure, r.Lost = total.Failed, total.Failure, total.Lost
	r.perPair(float64(total.Pairs), total, m.redis, e.commands)
	return r
}

// perPair divides what was used up by the pairs it was used for.
func (r *Result) perPair(pairs float64, client sample, redis counters, commands []string) {
	r.ClientCPU, r.RedisCPU = client.CPUSeconds*1e6/pairs, redis.cpuSeconds*1e6/pairs
	r.Allocations, r.Bytes = float64(client.Allocations)/pairs, float64(client.Bytes)/pairs
	r.NetIn, r.NetOut = float64(redis.netIn)/pairs, float64(redis.netOut)/pairs
	r.Commands = float64(redis.sent(commands)) / pairs
	r.Calls = make(map[string]float64)
	for command, calls := range redis.calls {
		r.Calls[command] = math.Round(float64(calls)/pairs*1000) / 1000
	}
}

func mergeWaits(into *hdrhistogram.Histogram, encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	one, err := hdrhistogram.Decode(encoded)
	if err != nil {
		return fmt.Errorf("reading the waits: %w", err)
	}
	into.Merge(one)
	return nil
}

func readWaits(h *hdrhistogram.Histogram) Waits {
	at := func(percent float64) float64 { return float64(h.ValueAtQuantile(percent)) / 1e3 }
	return Waits{P50: at(50), P90: at(90), P99: at(99), Max: float64(h.Max()) / 1e3}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// line is the result in one line, for the screen.
func (r Result) line() string {
	if r.Void != "" {
		return fmt.Sprintf("%-15s %-16s VOID: %s", r.Work, r.Contestant, r.Void)
	}
	failed := ""
	if r.Failed > 0 {
		failed = fmt.Sprintf("  %d failed: %s", r.Failed, r.Failure)
	}
	return fmt.Sprintf("%-15s %-16s %9.0f pairs/s  p50 %-8s p99 %-8s max %-8s%s", r.Work, r.Contestant, r.PairsPerSecond,
		microseconds(r.Wait.P50), microseconds(r.Wait.P99), microseconds(r.Wait.Max), failed)
}

// microseconds writes a time as people do.
func microseconds(us float64) string {
	d := time.Duration(us * 1e3)
	switch {
	case d <= 0:
		return "-"
	case d < time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", us)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", us/1e3)
	default:
		return fmt.Sprintf("%.3g s", us/1e6)
	}
}
