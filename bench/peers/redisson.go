package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/wheellock/wheellock/internal/interop/driver"
	"github.com/wheellock/wheellock/internal/testkit/child"
	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
)

// redissonEntry is the Java original, driven by the jar of bench/redisson.
func redissonEntry(jar string) entry {
	return entry{
		name: "redisson",
		settings: "RLock, RFencedLock, RFairLock with Redisson's defaults, a thread per caller; a warm-up of 10 s for the JIT, with the server near, " +
			"before hand-overs with one hot name; but for the hand-over its times are of whole pairs, its threads keep their names, and " +
			"exclusion is not checked",
		lacks:    "no order of waiters but with RFairLock, no fencing but with RFencedLock, nobody is told of a lost lock",
		title:    "Redisson (Java)",
		commands: []string{"del", "subscribe", "unsubscribe", "ping", "hello"},
		measure: func(ctx context.Context, s *session) (measurement, error) {
			return runRedisson(ctx, s, jar)
		},
		takes: func(w work) bool {
			return w.Load == handover || w.Load == blocking && w.Hot <= 1 && w.Inside == 0 && w.Processes <= redissonProcesses && !w.together()
		},
	}
}

const (
	// redissonPatience is for the start of a JVM, and for what it may need beyond warm-up and turn.
	redissonPatience = 30 * time.Second
	// redissonWarmUp is before a turn, for the JIT. After 10,000 pairs of a hot name its hand-overs do not get faster any more;
	// hand-overs alone, which are few a second, still did after 16 s.
	redissonWarmUp = 10 * time.Second
	// redissonProcesses is how many JVMs start on two processors before redissonPatience ends.
	redissonProcesses = 8
	// redissonMemory is the shared memory in its process.
	redissonMemory = "/dev/fd/3"
)

func runRedisson(ctx context.Context, s *session, jar string) (m measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.warmUpJIT+s.opts.length+redissonPatience)
	defer cancel()
	drivers, err := startRedisson(ctx, s.server, s.work.Processes, "-jar", jar)
	defer end(drivers)
	if err != nil {
		return m, err
	}
	return s.measureRedisson(drivers)
}

// startRedisson starts so many JVMs that share a memory. java are the arguments for them. Those that have started are returned with an
// error, too.
func startRedisson(ctx context.Context, s *server, processes int, java ...string) (drivers []*driver.Driver, err error) {
	memory, err := sharedmem.File(sharedBytes)
	if err != nil {
		return nil, err
	}
	defer memory.Close() // they have it
	java = append(java, "--redis", s.url)
	if s.cluster {
		java = append(java, "--cluster")
	}
	for range processes {
		process := exec.CommandContext(ctx, "java", java...)
		process.ExtraFiles = []*os.File{memory}
		child.Apart(process) // Ctrl-C is for us alone
		d, err := driver.New(process)
		if err != nil {
			return drivers, err
		}
		drivers = append(drivers, d)
	}
	return drivers, nil
}

// end ends them; they have nothing more to say.
func end(drivers []*driver.Driver) {
	for _, d := range drivers {
		d.Kill()
		d.Close()
	}
}

// measureRedisson has the drivers warm up, with the server near, and do the work.
func (s *session) measureRedisson(drivers []*driver.Driver) (m measurement, err error) {
	warmUp := *s
	if s.work.Load == handover {
		warmUp.work.Load, warmUp.work.Callers = blocking, 4
	}
	s.server.bring(0)
	_, err = warmUp.loadRedisson(drivers, s.opts.warmUpJIT)
	s.server.bring(s.opts.away)
	if err != nil {
		return m, err
	}
	before, err := s.server.Counters()
	if err != nil {
		return m, err
	}
	if m.samples, err = s.loadRedisson(drivers, s.opts.length); err != nil {
		return m, err
	}
	after, err := s.server.Counters()
	m.redis = after.Since(before)
	return m, err
}

// loadRedisson has all drivers do the work at the same time.
func (s *session) loadRedisson(drivers []*driver.Driver, length time.Duration) (samples []sample, err error) {
	name := names{prefix: freshPrefix()}.build(0)
	var coming []<-chan string
	for process, d := range drivers {
		coming = append(coming, d.Start("%s %g", s.redissonWork(name, process), length.Seconds()))
	}
	for process, one := range coming {
		answer, ok := driver.Read(<-one)
		if !ok {
			return nil, fmt.Errorf("redisson: %s", answer)
		}
		measured, err := readRedisson(answer)
		if err != nil {
			return nil, err
		}
		measured.Process = process
		samples = append(samples, measured)
	}
	return samples, nil
}

// redissonWork is the command for a process, but for its last word, the seconds.
func (s *session) redissonWork(name string, process int) string {
	kind := cmp.Or(s.work.Kind, "lock")
	switch {
	case s.work.Load == handover:
		return fmt.Sprintf("handover %s %s %d %s %d", kind, name, process, redissonMemory, settle(s.opts.away).Milliseconds())
	case s.work.Hot > 0:
		return fmt.Sprintf("bench %s hot %d", kind, s.work.Callers)
	}
	return fmt.Sprintf("bench %s distinct %d", kind, s.work.Callers)
}

// readRedisson reads a sample as bench/redisson writes it.
func readRedisson(answer string) (one sample, err error) {
	if err := json.Unmarshal([]byte(answer), &one); err != nil {
		return one, fmt.Errorf("reading redisson's %q: %w", answer, err)
	}
	if one.Seconds <= 0 {
		return one, fmt.Errorf("redisson gave no time: %q", answer)
	}
	return one, nil
}
