package resp

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// InfoFields reads the lines "name:value" of INFO.
func InfoFields(info string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields
}

// Product is which server has these fields in INFO server, and its version: "Redis 7.0.15". What is compatible with Redis says there
// with which Redis, and besides what it is.
func Product(fields map[string]string) string {
	for _, product := range []string{"Valkey", "Redict", "Dragonfly", "Garnet", "Kvrocks"} {
		if version := fields[strings.ToLower(product)+"_version"]; version != "" {
			return product + " " + version
		}
	}
	return "Redis " + fields["redis_version"]
}

// Counters is what a server, or several, have done since they started.
type Counters struct {
	Servers       []string         // run ids: after a restart there is nothing to compare with
	CPU           time.Duration    // of redis-server, all its threads, in user and kernel
	NetIn, NetOut int64            // bytes
	Commands      map[string]int64 // executed, also inside scripts, by their names in INFO commandstats; without INFO itself
}

// Sections are those of INFO that Counters are read from. Before 7.0, INFO takes one at a time.
var Sections = []string{"server", "cpu", "stats", "commandstats"}

// Add takes in what one server says in all Sections together.
func (c *Counters) Add(info string) error {
	fields := InfoFields(info)
	c.Servers = append(c.Servers, fields["run_id"])
	slices.Sort(c.Servers)
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(fields[name], 64)
		if err != nil {
			return fmt.Errorf("INFO cpu has no %s", name)
		}
		c.CPU += time.Duration(seconds * float64(time.Second))
	}
	for name, sum := range map[string]*int64{"total_net_input_bytes": &c.NetIn, "total_net_output_bytes": &c.NetOut} {
		n, err := strconv.ParseInt(fields[name], 10, 64)
		if err != nil {
			return fmt.Errorf("INFO stats has no %s", name)
		}
		*sum += n
	}
	calls, err := CommandCounts(fields)
	c.add(calls, 1)
	return err
}

// CommandCounts reads the fields of INFO commandstats, "cmdstat_get:calls=3,usec=1", and passes over others.
func CommandCounts(fields map[string]string) (map[string]int64, error) {
	counts := make(map[string]int64)
	for name, value := range fields {
		command, found := strings.CutPrefix(name, "cmdstat_")
		if !found || command == "info" {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("INFO commandstats: %s:%s", name, value)
		}
		counts[command] = n
	}
	return counts, nil
}

// Since is what was done between an earlier reading and this one.
func (c Counters) Since(before Counters) Counters { return c.plus(before, -1) }

// Plus is both together.
func (c Counters) Plus(o Counters) Counters { return c.plus(o, 1) }

func (c Counters) plus(o Counters, sign int64) Counters {
	c.CPU += time.Duration(sign) * o.CPU
	c.NetIn += sign * o.NetIn
	c.NetOut += sign * o.NetOut
	c.Commands = maps.Clone(c.Commands)
	c.add(o.Commands, sign)
	return c
}

// add leaves out what did not run.
func (c *Counters) add(commands map[string]int64, sign int64) {
	if c.Commands == nil {
		c.Commands = make(map[string]int64)
	}
	for command, n := range commands {
		c.Commands[command] += sign * n
	}
	maps.DeleteFunc(c.Commands, func(_ string, n int64) bool { return n == 0 })
}
