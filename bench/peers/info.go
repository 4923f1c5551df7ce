package main

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// counters are what Redis says it has done since it started.
type counters struct {
	cpuSeconds float64
	netIn      int64            // bytes
	netOut     int64            // bytes
	calls      map[string]int64 // by command; calls inside scripts count too
}

// readCounters asks Redis; it costs it three INFO commands, which are not in calls.
func readCounters(w *wire) (counters, error) {
	c := counters{calls: make(map[string]int64)}
	for _, section := range []string{"cpu", "stats", "commandstats"} {
		text, err := w.do("INFO", section)
		if err != nil {
			return c, fmt.Errorf("INFO %s: %w", section, err)
		}
		c.add(text.text)
	}
	delete(c.calls, "info")
	return c, nil
}

// add takes the figures out of one section.
func (c *counters) add(section string) {
	for line := range strings.Lines(section) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "used_cpu_sys", "used_cpu_user":
			seconds, _ := strconv.ParseFloat(value, 64)
			c.cpuSeconds += seconds
		case "total_net_input_bytes":
			c.netIn, _ = strconv.ParseInt(value, 10, 64)
		case "total_net_output_bytes":
			c.netOut, _ = strconv.ParseInt(value, 10, 64)
		default:
			if command, is := strings.CutPrefix(key, "cmdstat_"); is {
				calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
				c.calls[command], _ = strconv.ParseInt(calls, 10, 64)
			}
		}
	}
}

// since is what was done between two readings.
func (c counters) since(before counters) counters {
	done := counters{
		cpuSeconds: c.cpuSeconds - before.cpuSeconds,
		netIn:      c.netIn - before.netIn,
		netOut:     c.netOut - before.netOut,
		calls:      maps.Clone(c.calls),
	}
	for command, calls := range before.calls {
		done.calls[command] -= calls
	}
	maps.DeleteFunc(done.calls, func(_ string, calls int64) bool { return calls == 0 })
	return done
}

// sent counts the commands that clients sent: script calls, and those that this contestant sends besides.
func (c counters) sent(besides []string) int64 {
	total := c.calls["evalsha"] + c.calls["eval"]
	for _, command := range besides {
		total += c.calls[command]
	}
	return total
}

// plus is both together.
func (c counters) plus(other counters) counters {
	sum := counters{
		cpuSeconds: c.cpuSeconds + other.cpuSeconds,
		netIn:      c.netIn + other.netIn,
		netOut:     c.netOut + other.netOut,
		calls:      maps.Clone(c.calls),
	}
	for command, calls := range other.calls {
		sum.calls[command] += calls
	}
	return sum
}
