package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
)

// Describe says in a line what a plan does.
func Describe(p *load.Plan) string {
	callers, loop, lease := "blocking caller", "closed loop", "leases renewed by the watchdog"
	if p.Async {
		callers = "asynchronous caller"
	}
	if p.Rate > 0 {
		loop = fmt.Sprintf("open loop at %s calls/s", three(p.Rate))
	}
	if p.Lease > 0 {
		lease = fmt.Sprintf("leases of %v", p.Lease)
	}
	words := []string{number(int64(p.Workers), callers) + kindOf(p), loop, number(int64(p.Names), "name")}
	if p.Zipf > 0 {
		words[2] += fmt.Sprintf(" (Zipf %g)", p.Zipf)
	}
	for _, d := range []struct {
		what string
		time time.Duration
	}{{"hold", p.Hold}, {"think", p.Think}, {"wait at most", p.Wait}} {
		if d.time > 0 {
			words = append(words, fmt.Sprintf("%s %v", d.what, d.time))
		}
	}
	words = append(words, lease)
	if p.Handoff < 0 {
		words = append(words, "no local handoff")
	} else if p.Handoff > 0 {
		words = append(words, fmt.Sprintf("local handoff for %v", p.Handoff))
	}
	return strings.Join(append(words, number(int64(p.Processes), "process"), fmt.Sprintf("seed %d", p.Seed)), " · ")
}

// kindOf says what they ask for, unless it is mutexes.
func kindOf(p *load.Plan) string {
	switch {
	case p.Kind == "" || p.Kind == load.Mutex:
		return ""
	case p.Kind.HasPermits():
		return fmt.Sprintf(" · %s (%s)", p.Kind, number(int64(p.Permits), "permit"))
	case p.Kind == load.RW:
		return fmt.Sprintf(" · %s (%s read)", p.Kind, percent(p.Readers))
	default:
		return " · " + string(p.Kind)
	}
}

// Table writes the result for people.
func (r *Result) Table(w io.Writer) {
	t := &table{w: w}
	early := ""
	if r.EndedEarly {
		early = ", ended early"
	}
	t.row("throughput", "%s pairs/s   (%s in %.1f s%s)", shown(r.PairsPerSecond, three), number(r.Pairs, "pair"), r.Seconds, early)
	t.row("latency", "%9s %9s %9s %9s %9s", "p50", "p90", "p99", "p99.9", "max")
	t.latency("acquire", r.Latency.Acquire)
	t.latency("hand-over", r.Latency.Handover)
	if r.Plan.Processes > 1 {
		t.latency("cross-process", r.Latency.Across)
	}
	if r.Plan.Rate > 0 {
		t.latency("start lag", r.Latency.StartLag)
	}
	if r.Plan.Kind == load.Fair {
		t.latency("out of turn", r.Latency.Overtaken)
	}
	r.spread(t)
	r.costs(t)
	r.calls(t)
	r.checks(t)
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "\n%s\n", problem)
	}
}

type table struct{ w io.Writer }

func (t *table) row(label, format string, args ...any) {
	fmt.Fprintf(t.w, "  %-15s %s\n", label, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *table) latency(label string, l *Latency) {
	if l == nil {
		t.row("  "+label, "%9s", "none")
		return
	}
	t.row("  "+label, "%9s %9s %9s %9s %9s", micro(l.P50), micro(l.P90), micro(l.P99), micro(l.P999), micro(l.Max))
}

func (r *Result) spread(t *table) {
	fair := func(f *Fairness, of string) string {
		return fmt.Sprintf("%.3f over %s (least %s, most %s pairs)", f.Jain, number(int64(f.Of), of), grouped(f.Least), grouped(f.Most))
	}
	var lines []string
	if f := r.Fairness.Workers; f != nil {
		lines = append(lines, fair(f, "worker"))
	}
	if f := r.Fairness.Processes; f != nil {
		lines = append(lines, fair(f, "process"))
	}
	for i, line := range lines {
		t.row([]string{"fairness", ""}[i], "%s", line)
	}
	t.row("attempts", "%s per grant", shown(r.Engine.AttemptsPerGrant, three))
	t.row("handoffs", "%s of grants, without asking Redis", shown(r.Engine.HandoffShare, percent))
}

func (r *Result) costs(t *table) {
	if r.Redis.Known {
		t.row("Redis", "%s CPU, %s commands per pair, %s of them scripts", shown(r.Redis.CPUPerPair, micro),
			shown(r.Redis.CommandsPerPair, three), shown(r.Redis.ScriptsPerPair, three))
		if r.Redis.CheckCommands > 0 {
			t.row("", "besides %s for checks (%s), whose CPU is in it",
				number(r.Redis.CheckCommands, "command"), shown(r.Redis.CheckShare, percent))
		}
	} else {
		t.row("Redis", "n/a: the server does not tell what it did")
	}
	t.row("client", "%s CPU, %s allocations (%s) per pair; %s", shown(r.Client.CPUPerPair, micro),
		shown(r.Client.AllocsPerPair, three), shown(r.Client.BytesPerPair, bytes), number(r.Client.Goroutines, "goroutine"))
	if r.Server.Kind == target.Embedded && r.Plan.Processes == 1 {
		t.row("", "with those of the emulated Redis")
	}
}

// calls lists what did not end as a pair, if there is any.
func (r *Result) calls(t *table) {
	k := &r.Calls
	var words []string
	for _, c := range []struct {
		n    int64
		what string
	}{
		{k.Timeouts, "timed out"}, {k.Failed, "failed"}, {k.Overstayed, "overstayed their lease"}, {k.Late, "began late"},
		{k.NotStarted, "were due and never began"}, {k.GivenUp, "still waited at the end"},
	} {
		if c.n > 0 {
			words = append(words, grouped(c.n)+" "+c.what)
		}
	}
	if len(words) > 0 {
		t.row("other calls", "%s", strings.Join(words, ", "))
	}
	for _, text := range slices.Sorted(maps.Keys(k.Errors)) {
		t.row("", "%s× %s", grouped(k.Errors[text]), text)
	}
}

func (r *Result) checks(t *table) {
	k := &r.Checks
	memory := "in memory"
	if r.Plan.Processes > 1 && k.SharedMemory {
		memory = "in shared memory"
	} else if r.Plan.Processes > 1 {
		memory = "in the memory of each process"
	}
	t.row("checked", "%s %s, %s of them in Redis too", number(k.Sections, "section"), memory, grouped(k.InRedis))
	if l := r.Latency.Check; l != nil {
		t.row("", "a check in Redis adds %s to its section (p50; p99 %s)", micro(l.P50), micro(l.P99))
	}
	if k.NoVerdict > 0 {
		t.row("", "%s in Redis gave no verdict: answer lost, or lease over", grouped(k.NoVerdict))
	}
	if r.OK {
		t.row("", "no violation, no key left behind, nobody stranded")
	}
}
