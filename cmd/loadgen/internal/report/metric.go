package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Metric is one figure of a result, under the name by which --fail and the tables of several runs call it.
type Metric struct {
	Name  string
	per   string // what it is counted in, where its value does not say it
	unit  unit
	rises bool                   // the larger the better
	of    func(*Result) *float64 // nil: not measured
}

// unit says how a figure is read and written. A Result has periods in microseconds and shares from 0 to 1, so read returns these too.
type unit struct {
	write func(float64) string
	read  func(string) (float64, error)
	want  string // what read reads
}

var (
	number = unit{figures.Three, figures.Parse, "a number, such as 20k or 0.5"}
	share  = unit{figures.Percent, readShare, "a share, such as 95% or 0.95"}
	period = unit{figures.Micros, readPeriod, "a time with its unit, such as 5ms"}
	size   = unit{figures.Bytes, figures.Parse, "a number of bytes"}
)

// Metrics are all metrics, but for the percentiles that a latency has besides these.
var Metrics = append([]Metric{
	{"throughput", "pairs/s", number, true, func(r *Result) *float64 { return r.PairsPerSecond }},
	{"throughput.readers", "pairs/s", number, true, func(r *Result) *float64 { return r.ReadersPerSecond }},
	{"throughput.writers", "pairs/s", number, true, func(r *Result) *float64 { return r.WritersPerSecond }},
	{"reached", "of the calls due", share, true, func(r *Result) *float64 { return r.reached() }},
}, append(latencies(), []Metric{
	{"fairness", "Jain's index", number, true, func(r *Result) *float64 { return jain(r.Fairness.Workers) }},
	{"fairness.processes", "Jain's index", number, true, func(r *Result) *float64 { return jain(r.Fairness.Processes) }},
	{"attempts", "per grant", number, false, func(r *Result) *float64 { return r.Engine.AttemptsPerGrant }},
	{"handoffs", "of grants", share, true, func(r *Result) *float64 { return r.Engine.HandoffShare }},
	{"redis.cpu", "per pair", period, false, func(r *Result) *float64 { return r.Redis.CPUPerPair }},
	{"redis.commands", "per pair", number, false, func(r *Result) *float64 { return r.Redis.CommandsPerPair }},
	{"redis.scripts", "per pair", number, false, func(r *Result) *float64 { return r.Redis.ScriptsPerPair }},
	{"across.commands", "per hand-over", number, false, func(r *Result) *float64 { return r.Redis.Across.Commands }},
	{"across.scripts", "per hand-over", number, false, func(r *Result) *float64 { return r.Redis.Across.Scripts }},
	{"across.messages", "per hand-over", number, false, func(r *Result) *float64 { return r.Redis.Across.Messages }},
	{"client.cpu", "per pair", period, false, func(r *Result) *float64 { return r.Client.CPUPerPair }},
	{"client.allocs", "per pair", number, false, func(r *Result) *float64 { return r.Client.AllocsPerPair }},
	{"client.bytes", "per pair", size, false, func(r *Result) *float64 { return r.Client.BytesPerPair }},
	{"client.goroutines", "at most", number, false, func(r *Result) *float64 { return whole(r.Client.Goroutines) }},
	{"timeouts", "calls", number, false, func(r *Result) *float64 { return whole(r.Calls.Timeouts) }},
	{"failed", "calls", number, false, func(r *Result) *float64 { return whole(r.Calls.Failed) }},
	{"overstayed", "calls", number, false, func(r *Result) *float64 { return whole(r.Calls.Overstayed) }},
	{"late", "calls", number, false, func(r *Result) *float64 { return whole(r.Calls.Late) }},
	{"not_started", "calls", number, false, func(r *Result) *float64 { return whole(r.Calls.NotStarted) }},
}...)...)

// distributions are the latencies by their names in the JSON.
var distributions = []struct {
	name string
	of   func(*Latencies) *Latency
}{
	{"acquire", func(l *Latencies) *Latency { return l.Acquire }}, {"readers", func(l *Latencies) *Latency { return l.Readers }},
	{"writers", func(l *Latencies) *Latency { return l.Writers }}, {"handover", func(l *Latencies) *Latency { return l.Handover }},
	{"across", func(l *Latencies) *Latency { return l.Across }}, {"start_lag", func(l *Latencies) *Latency { return l.StartLag }},
}

// latencies are the usual metrics of the distributions.
func latencies() (all []Metric) {
	for _, d := range distributions {
		for _, which := range []string{"mean", "p50", "p90", "p99", "p99.9", "max"} {
			m, _ := latencyMetric(d.name + "." + which)
			all = append(all, m)
		}
	}
	return all
}

// latencyName takes any percentile with up to four decimals, such as p99.9999: a result keeps the whole histogram.
var latencyName = regexp.MustCompile(`^([a-z_]+)\.(mean|max|p([0-9]{1,2}(?:\.[0-9]{1,4})?|100))$`)

// latencyMetric is the metric of a distribution under a name, such as acquire.p99.99.
func latencyMetric(name string) (m Metric, known bool) {
	parts := latencyName.FindStringSubmatch(name)
	if parts == nil {
		return Metric{}, false
	}
	for _, d := range distributions {
		if d.name != parts[1] {
			continue
		}
		percentile, _ := strconv.ParseFloat(parts[3], 64)
		return Metric{name, "", period, false, func(r *Result) *float64 {
			l := d.of(&r.Latency)
			switch {
			case l == nil:
				return nil
			case parts[2] == "mean":
				return &l.Mean
			case parts[2] == "max":
				return &l.Max
			default:
				us := micros(l.HDR.Percentile(percentile))
				return &us
			}
		}}, true
	}
	return Metric{}, false
}

// metricsOf are all metrics of a load like this one: with those of its steps, if it grows. A step of another result is the same only if it
// has the same name; else it counts as not measured.
func metricsOf(r *Result) []Metric {
	all := slices.Clone(Metrics)
	for i := range r.Steps {
		name := r.Steps[i].Name()
		of := func(value func(*Step) *float64) func(*Result) *float64 {
			return func(r *Result) *float64 {
				if i >= len(r.Steps) || r.Steps[i].Name() != name {
					return nil
				}
				return value(&r.Steps[i])
			}
		}
		all = append(all,
			Metric{name + ": throughput", "pairs/s", number, true, of(func(s *Step) *float64 { return &s.PairsPerSecond })},
			Metric{name + ": acquire.p50", "", period, false, of(func(s *Step) *float64 { return s.AcquireP50 })},
			Metric{name + ": acquire.p99", "", period, false, of(func(s *Step) *float64 { return s.AcquireP99 })})
	}
	return all
}

// metric finds a metric. The error names all that there are.
func metric(name string) (Metric, error) {
	for _, m := range Metrics {
		if m.Name == name {
			return m, nil
		}
	}
	if m, known := latencyMetric(name); known {
		return m, nil
	}
	var names, with []string
	for _, m := range Metrics {
		if _, isLatency := latencyMetric(m.Name); !isLatency {
			names = append(names, m.Name)
		}
	}
	for _, d := range distributions {
		with = append(with, d.name)
	}
	return Metric{}, fmt.Errorf("there is no figure %q: want one of %s, or .mean, .max or a percentile such as .p50 or .p99.9 of one of %s",
		name, strings.Join(names, " "), strings.Join(with, " "))
}

func jain(f *Fairness) *float64 {
	if f == nil {
		return nil
	}
	return &f.Jain
}

func whole(n int64) *float64 {
	f := float64(n)
	return &f
}

func readShare(text string) (float64, error) {
	if digits, found := strings.CutSuffix(text, "%"); found {
		v, err := figures.Parse(digits)
		return v / 100, err
	}
	return figures.Parse(text)
}

func readPeriod(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	return micros(d), err
}
