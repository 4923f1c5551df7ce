package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// redisBenchmarkEntry has the ceiling checked by a program that is not ours.
var redisBenchmarkEntry = entry{
	name: "redis-benchmark",
	settings: "wheellock's scripts, one name per call, -P 64 -c 8; it cannot pair up calls, so acquire and release run one after the " +
		"other; about one release in nine finds nothing to free",
	lacks:   "everything: it is Redis' own load generator",
	measure: runRedisBenchmark,
	takes:   func(w work) bool { return w.ID == "distinct-1024" },
}

const (
	benchmarkPerSecond = 20_000                     // calls of each script for every second of --for
	benchmarkHeld      = 4                          // names held before the releases, for each release
	benchmarkName      = "redis-bench:__rand_int__" // 24 bytes, once the number is in
	benchmarkFresh     = "1000000000"               // numbers for the acquires: hardly one comes twice
)

// runRedisBenchmark measures acquires of free names and releases of held ones, apart from each other.
func runRedisBenchmark(ctx context.Context, s *session) (measurement, error) {
	calls := max(int(s.opts.length.Seconds()*benchmarkPerSecond), 2_000)
	loaded, err := loadOurScripts(s.server)
	if err != nil {
		return measurement{}, err
	}
	if err := hold(s.server.url, loaded, calls*benchmarkHeld); err != nil {
		return measurement{}, fmt.Errorf("taking names for the releases: %w", err)
	}
	before, err := s.server.Counters()
	if err != nil {
		return measurement{}, err
	}
	releases, err := s.benchmark(ctx, calls, strconv.Itoa(calls*benchmarkHeld), loaded.releaseCall(anOwner, benchmarkName))
	if err != nil {
		return measurement{}, err
	}
	between, err := s.server.Counters()
	if err != nil {
		return measurement{}, err
	}
	if err := s.server.clear(); err != nil {
		return measurement{}, err
	}
	cleared, err := s.server.Counters()
	if err != nil {
		return measurement{}, err
	}
	acquires, err := s.benchmark(ctx, calls, benchmarkFresh, loaded.acquireCall(anOwner, benchmarkName))
	if err != nil {
		return measurement{}, err
	}
	after, err := s.server.Counters()
	if err != nil {
		return measurement{}, err
	}
	return measurement{
		samples: []sample{{
			Pairs: int64(calls), Seconds: releases.seconds + acquires.seconds,
			Usage: usage.Usage{CPU: releases.cpu + acquires.cpu},
		}},
		redis: between.Since(before).Plus(after.Since(cleared)),
	}, nil
}

// hold takes the names with the numbers from 0 on.
func hold(url string, loaded ourScripts, count int) error {
	conn, err := dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	const atOnce = 500
	for first := 0; first < count; first += atOnce {
		last := min(first+atOnce, count)
		for i := first; i < last; i++ {
			name := strings.ReplaceAll(benchmarkName, "__rand_int__", fmt.Sprintf("%012d", i))
			conn.Queue(loaded.acquireCall(anOwner, name)...)
		}
		if err := conn.Flush(); err != nil {
			return err
		}
		for range last - first {
			if answer := conn.Read(); !taken(answer) {
				return fmt.Errorf("acquire answered %v", answer)
			}
		}
	}
	return nil
}

type benchmarkRun struct {
	seconds float64
	cpu     time.Duration
}

// benchmark runs redis-benchmark once; seconds is its own figure, without its start.
func (s *session) benchmark(ctx context.Context, calls int, numbers string, call []string) (benchmarkRun, error) {
	args := []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.server.Port), "-P", "64", "-c", "8", "--csv",
		"-n", strconv.Itoa(calls), "-r", numbers}
	command := exec.CommandContext(ctx, s.server.benchmark, append(args, call...)...)
	command.WaitDelay = time.Second
	out, err := command.Output()
	if err != nil {
		return benchmarkRun{}, fmt.Errorf("redis-benchmark, expected beside redis-server: %w", err)
	}
	perSecond, err := readBenchmark(string(out))
	if err != nil {
		return benchmarkRun{}, err
	}
	state := command.ProcessState
	return benchmarkRun{
		seconds: float64(calls) / perSecond,
		cpu:     state.UserTime() + state.SystemTime(),
	}, nil
}

// readBenchmark finds the calls per second in redis-benchmark's CSV: a line of titles, a line of figures.
func readBenchmark(out string) (perSecond float64, err error) {
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("reading redis-benchmark: %w", err)
	}
	if len(lines) != 2 || len(lines[0]) != len(lines[1]) {
		return 0, fmt.Errorf("reading redis-benchmark: %d lines", len(lines))
	}
	for i, title := range lines[0] {
		if title == "rps" {
			return strconv.ParseFloat(lines[1][i], 64)
		}
	}
	return 0, errors.New("reading redis-benchmark: no column rps")
}
