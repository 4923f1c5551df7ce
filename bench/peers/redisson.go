package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/interop/driver"
	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// redissonEntry is the Java original, driven by the jar of bench/redisson.
func redissonEntry(jar string) entry {
	return entry{
		name: "redisson",
		settings: "RLock with Redisson's defaults, a thread per caller; a warm-up twice as long as the turn, for the JIT; " +
			"its times are of whole pairs, its threads keep their names, and exclusion is not checked",
		lacks:    "no order of waiters but with RFairLock, no fencing but with RFencedLock, nobody is told of a lost lock",
		color:    purple,
		commands: []string{"del", "subscribe", "unsubscribe", "ping", "hello"},
		measure: func(ctx context.Context, s *session) (measurement, error) {
			return runRedisson(ctx, s, jar)
		},
		takes: func(w work) bool { return w.Load == blocking && w.Hot <= 1 },
	}
}

// redissonPatience is for the start of a JVM, and for what it may need beyond the length of a turn.
const redissonPatience = 30 * time.Second

func runRedisson(ctx context.Context, s *session, jar string) (m measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*s.opts.length+redissonPatience)
	defer cancel()
	var drivers []*driver.Driver
	for range s.work.Processes {
		java := exec.CommandContext(ctx, "java", "-jar", jar, "--redis", s.server.url)
		child.Apart(java) // Ctrl-C is for us alone
		d, err := driver.New(java)
		if err != nil {
			return m, err
		}
		defer d.Close()
		defer d.Kill()
		drivers = append(drivers, d)
	}
	if _, err := s.benchRedisson(drivers, 2*s.opts.length); err != nil {
		return m, err
	}
	before, err := s.server.Counters()
	if err != nil {
		return m, err
	}
	answers, err := s.benchRedisson(drivers, s.opts.length)
	if err != nil {
		return m, err
	}
	after, err := s.server.Counters()
	if err != nil {
		return m, err
	}
	m.redis = after.Since(before)
	m.stated = &Waits{}
	for i, answer := range answers {
		one, pairTimes, err := readRedisson(answer)
		if err != nil {
			return m, err
		}
		one.Process = i
		m.samples = append(m.samples, one)
		m.stated.P50 = max(m.stated.P50, pairTimes.P50)
		m.stated.P99 = max(m.stated.P99, pairTimes.P99)
		m.stated.Max = max(m.stated.Max, pairTimes.Max)
	}
	return m, nil
}

// benchRedisson has all drivers do the work at the same time and answers what each says.
func (s *session) benchRedisson(drivers []*driver.Driver, length time.Duration) (answers []string, err error) {
	mode := "distinct"
	if s.work.Hot > 0 {
		mode = "hot"
	}
	var coming []<-chan string
	for _, d := range drivers {
		coming = append(coming, d.Start("bench lock %s %d %g", mode, s.work.Callers, length.Seconds()))
	}
	for _, one := range coming {
		answer, ok := driver.Read(<-one)
		if !ok {
			return nil, fmt.Errorf("redisson: %s", answer)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// readRedisson reads "pairs=... seconds=..." and so on.
func readRedisson(answer string) (sample, Waits, error) {
	figures := make(map[string]float64)
	for word := range strings.FieldsSeq(answer) {
		name, text, _ := strings.Cut(word, "=")
		figure, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return sample{}, Waits{}, fmt.Errorf("reading redisson's %q: %w", answer, err)
		}
		figures[name] = figure
	}
	one := sample{
		Pairs: int64(figures["pairs"]), Seconds: figures["seconds"], Failed: int64(figures["errors"]),
		Usage: usage.Usage{CPU: time.Duration(figures["cpuSeconds"] * float64(time.Second)), Bytes: int64(figures["allocatedBytes"])},
	}
	if one.Seconds <= 0 {
		return sample{}, Waits{}, fmt.Errorf("redisson gave no time: %q", answer)
	}
	return one, Waits{P50: figures["p50Micros"], P99: figures["p99Micros"], Max: figures["maxMicros"]}, nil
}
