package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	var drivers []*redissonDriver
	defer func() {
		for _, d := range drivers {
			d.end()
		}
	}()
	for range s.work.Processes {
		d, err := startRedisson(ctx, jar, s.server.url)
		if err != nil {
			return m, err
		}
		drivers = append(drivers, d)
	}
	if _, err := s.benchRedisson(drivers, 2*s.opts.length); err != nil {
		return m, err
	}
	before, err := readCounters(s.server.control)
	if err != nil {
		return m, err
	}
	answers, err := s.benchRedisson(drivers, s.opts.length)
	if err != nil {
		return m, err
	}
	after, err := readCounters(s.server.control)
	if err != nil {
		return m, err
	}
	m.redis = after.since(before)
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
func (s *session) benchRedisson(drivers []*redissonDriver, length time.Duration) (answers []string, err error) {
	mode := "distinct"
	if s.work.Hot > 0 {
		mode = "hot"
	}
	for _, d := range drivers {
		order := fmt.Sprintf("1 bench lock %s %d %g\n", mode, s.work.Callers, length.Seconds())
		if _, err := io.WriteString(d.in, order); err != nil {
			return nil, err
		}
	}
	for _, d := range drivers {
		line, err := d.listen()
		if err != nil {
			return nil, err
		}
		answer, is := strings.CutPrefix(line, "1 ok ")
		if !is {
			return nil, fmt.Errorf("redisson: %s", line)
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
		Pairs: int64(figures["pairs"]), Seconds: figures["seconds"], CPUSeconds: figures["cpuSeconds"],
		Bytes: uint64(figures["allocatedBytes"]), Failed: int64(figures["errors"]),
	}
	if one.Seconds <= 0 {
		return sample{}, Waits{}, fmt.Errorf("redisson gave no time: %q", answer)
	}
	return one, Waits{P50: figures["p50Micros"], P99: figures["p99Micros"], Max: figures["maxMicros"]}, nil
}

// redissonDriver is one JVM.
type redissonDriver struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner
}

// startRedisson returns when the driver is connected.
func startRedisson(ctx context.Context, jar, url string) (*redissonDriver, error) {
	d := &redissonDriver{process: exec.CommandContext(ctx, "java", "-jar", jar, "--redis", url)}
	d.process.Stderr = os.Stderr
	d.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us alone
	var err error
	if d.in, err = d.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.lines = bufio.NewScanner(out)
	if err := d.process.Start(); err != nil {
		return nil, fmt.Errorf("starting java: %w", err)
	}
	line, err := d.listen()
	if err == nil && !strings.HasPrefix(line, "ready ") {
		err = fmt.Errorf("redisson: %s", line)
	}
	if err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

func (d *redissonDriver) listen() (string, error) {
	if !d.lines.Scan() {
		return "", fmt.Errorf("the redisson driver is gone: %w", errors.Join(io.EOF, d.lines.Err()))
	}
	return d.lines.Text(), nil
}

func (d *redissonDriver) end() {
	d.process.Process.Kill()
	d.process.Wait() // killed is how it may end
}
