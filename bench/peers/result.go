package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// A Result is one turn as it stands in results.json. Times are microseconds; figures "per pair" are means.
type Result struct {
	Work       string `json:"work"`
	Contestant string `json:"contestant"`
	Server     string `json:"server,omitempty"` // where there are several
	Round      int    `json:"round"`
	Void       string `json:"void,omitempty"` // why none of the figures counts

	PairsPerSecond float64            `json:"pairs_per_second"`
	Wait           Waits              `json:"wait_us"`
	JainCallers    float64            `json:"jain_callers,omitempty"`   // 1: all had the same number of pairs; 1/n: one had all
	JainProcesses  float64            `json:"jain_processes,omitempty"` // likewise
	ClientCPU      float64            `json:"client_cpu_us_per_pair"`
	RedisCPU       float64            `json:"redis_cpu_us_per_pair"`
	Commands       float64            `json:"commands_per_pair"`            // that the client sent
	Calls          map[string]float64 `json:"calls_per_pair,omitempty"`     // by command, also inside scripts
	Executed       float64            `json:"executed_per_pair,omitempty"`  // all these commands together
	Scripts        float64            `json:"scripts_per_pair,omitempty"`   // calls of scripts
	Messages       float64            `json:"messages_per_pair,omitempty"`  // published
	Handovers      float64            `json:"handovers_per_pair,omitempty"` // hot names: pairs whose name another caller had before
	NetIn          float64            `json:"bytes_to_redis_per_pair"`
	NetOut         float64            `json:"bytes_from_redis_per_pair"`
	Allocations    float64            `json:"allocations_per_pair"`
	Bytes          float64            `json:"allocated_bytes_per_pair"`
	Collections    int64              `json:"garbage_collections"`
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
	var total load.Sample
	var byProcess []int64
	for _, one := range m.samples {
		if broken := one.Counts.Broken(); broken > 0 {
			err = errors.Join(err, fmt.Errorf("NO EXCLUSION, %d times: more held one name at once than may: %+v", broken, one.Counts.Breaches))
		}
		total.Add(&one, false)
		r.PairsPerSecond += float64(one.Counts.Pairs) / one.Elapsed.Seconds()
		byProcess = append(byProcess, one.Counts.Pairs)
	}
	for text := range total.Errors {
		r.Failure = text
	}
	if err == nil && total.Counts.Pairs == 0 {
		err = fmt.Errorf("no pair was finished; a failure: %q", r.Failure)
	}
	if err != nil {
		r.Void = err.Error()
		return r
	}
	if w.Hot > 0 {
		r.JainCallers, r.JainProcesses = figures.Jain(total.Callers), figures.Jain(byProcess)
	}
	r.Wait = readWaits(&total.Times.Acquire)
	if w.Load == handover {
		r.Wait = readWaits(&total.Times.Across)
	}
	r.Collections, r.Goroutines, r.MaxRSSKB = total.Usage.Collections, int(total.Goroutines), total.Usage.MaxRSS
	r.Failed, r.Lost = total.Counts.Failed+total.Counts.Timeouts, total.Counts.Lost
	r.perPair(float64(total.Counts.Pairs), &total, m.redis, e.commands)
	return r
}

// perPair divides what was used up by the pairs it was used for.
func (r *Result) perPair(pairs float64, client *load.Sample, redis resp.Counters, commands []string) {
	r.ClientCPU, r.RedisCPU = micros(client.Usage.CPU)/pairs, micros(redis.CPU)/pairs
	r.Allocations, r.Bytes = float64(client.Usage.Allocs)/pairs, float64(client.Usage.Bytes)/pairs
	r.NetIn, r.NetOut = float64(redis.NetIn)/pairs, float64(redis.NetOut)/pairs
	r.Commands = float64(sent(redis, commands)) / pairs
	r.Calls = make(map[string]float64)
	r.Handovers = float64(client.Counts.Handovers) / pairs
	r.Scripts = float64(sent(redis, nil)) / pairs
	r.Messages = float64(redis.Commands["publish"]+redis.Commands["spublish"]) / pairs
	for command, calls := range redis.Commands {
		r.Executed += float64(calls) / pairs
		r.Calls[command] = math.Round(float64(calls)/pairs*1000) / 1000
	}
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

func readWaits(h *figures.Histogram) Waits {
	at := func(percent float64) float64 { return micros(h.Percentile(percent)) }
	return Waits{P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}

// line is the result in one line, for the screen.
func (r Result) line() string {
	if r.Void != "" {
		return fmt.Sprintf("%-15s %-16s VOID: %s", r.Work, on(r.Contestant, r.Server), r.Void)
	}
	failed := ""
	if r.Failed > 0 {
		failed = fmt.Sprintf("  %d failed: %s", r.Failed, r.Failure)
	}
	return fmt.Sprintf("%-15s %-16s %9.0f pairs/s  p50 %-8s p99 %-8s max %-8s%s", r.Work, on(r.Contestant, r.Server), r.PairsPerSecond,
		microseconds(r.Wait.P50), microseconds(r.Wait.P99), microseconds(r.Wait.Max), failed)
}

// on is a contestant on a server, if there are several.
func on(contestant, server string) string {
	if server == "" {
		return contestant
	}
	return contestant + ", " + server
}

// microseconds writes a time as people do.
func microseconds(us float64) string {
	if us <= 0 {
		return "-"
	}
	return figures.Micros(us)
}
