package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Describe says in a line what a plan does. What is usual is left out, such as a hold of 0 or the engine's own handoff time.
func Describe(p *load.Plan) string {
	callers, loop, lease := "blocking caller", "closed loop", "leases renewed by the watchdog"
	if p.Async {
		callers = "asynchronous caller"
	}
	if p.Rate > 0 {
		loop = fmt.Sprintf("open loop at %s calls/s", figures.Three(p.Rate))
	}
	if p.FromRate > 0 {
		loop = fmt.Sprintf("open loop at %s to %s calls/s in %d steps", figures.Three(p.FromRate), figures.Three(p.Rate), p.Steps)
	}
	if p.Lease > 0 {
		lease = fmt.Sprintf("leases of %v", p.Lease)
	}
	number := figures.Number(int64(p.Workers), callers)
	if p.From > 0 {
		number = fmt.Sprintf("%d to %s in %d steps", p.From, number, p.Steps)
	}
	words := []string{number + kindOf(p), loop, figures.Number(int64(p.Names), "name")}
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
	return strings.Join(append(words, figures.Number(int64(p.Processes), "process"), fmt.Sprintf("seed %d", p.Seed)), " · ")
}

// kindOf says what they ask for, unless it is mutexes.
func kindOf(p *load.Plan) string {
	switch {
	case p.Kind == "" || p.Kind == load.Mutex:
		return ""
	case p.Kind.HasPermits():
		return fmt.Sprintf(" · %s (%s)", p.Kind, figures.Number(int64(p.Permits), "permit"))
	case p.Kind == load.RW:
		return fmt.Sprintf(" · %s (%s read)", p.Kind, figures.Percent(p.Readers))
	default:
		return " · " + string(p.Kind)
	}
}

// Table writes the result for people, in lines of so many places; 0 are those of a usual terminal. What a saturated run says of itself is
// yellow on a terminal.
func (r *Result) Table(w io.Writer, places int) {
	t := &table{w, places}
	if headline := r.Headline(); headline != "" {
		headline = Wrap("", headline, places)
		if places > 0 && r.Saturated() {
			headline = "\x1b[33m" + headline + "\x1b[m"
		}
		fmt.Fprintf(w, "%s\n\n", headline)
	}
	early := ""
	if r.EndedEarly {
		early = ", ended early"
	}
	t.row("throughput", "%s pairs/s   (%s in %.1f s%s)", figures.Shown(r.PairsPerSecond, figures.Three), figures.Number(r.Pairs, "pair"), r.Seconds, early)
	if r.ReadersPerSecond != nil && r.WritersPerSecond != nil {
		t.row("", "readers %s/s, writers %s/s", figures.Three(*r.ReadersPerSecond), figures.Three(*r.WritersPerSecond))
	}
	t.row("latency", "%9s %9s %9s %9s %9s", "p50", "p90", "p99", "p99.9", "max")
	t.latency("acquire", r.Latency.Acquire)
	if r.Plan.Kind == load.RW {
		t.latency("  readers", r.Latency.Readers)
		t.latency("  writers", r.Latency.Writers)
	}
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
	r.steps(t)
	r.spread(t)
	r.costs(t)
	r.calls(t)
	r.checks(t)
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "\n%s\n", Wrap("", problem, places))
	}
}

// table writes rows: a label of 15 places, then text; its further lines begin below the text.
type table struct {
	w      io.Writer
	places int // of a line
}

func (t *table) row(label, format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	fmt.Fprintln(t.w, Wrap(fmt.Sprintf("  %-15s ", label), text, t.places))
}

// latency says "none" where nothing was recorded: zeros would be read as very fast.
func (t *table) latency(label string, l *Latency) {
	if l == nil {
		t.row("  "+label, "%9s", "none")
		return
	}
	t.row("  "+label, "%9s %9s %9s %9s %9s", figures.Micros(l.P50), figures.Micros(l.P90), figures.Micros(l.P99), figures.Micros(l.P999), figures.Micros(l.Max))
}

// steps lists the steps of a load that grows.
func (r *Result) steps(t *table) {
	if len(r.Steps) == 0 {
		return
	}
	grows, queue := "callers", "waiting"
	if r.Plan.Rate > 0 {
		grows, queue = "asked", "backlog"
	}
	const form = "%9s %9s %9s %9s %9s %9s"
	t.row(grows, form, "pairs/s", "p50", "p99", "max", "handoffs", queue)
	for _, s := range r.Steps {
		queue := s.Waiting
		if r.Plan.Rate > 0 {
			queue = s.Backlog
		}
		t.row(fmt.Sprintf("%11s", s.Name()), form, figures.Grouped(int64(s.PairsPerSecond)), figures.Shown(s.AcquireP50, figures.Micros),
			figures.Shown(s.AcquireP99, figures.Micros), figures.Shown(s.AcquireMax, figures.Micros), figures.Shown(s.HandoffShare, figures.Percent), figures.Many(queue))
	}
}

// spread says how much each caller got, and how much Redis was asked for it.
func (r *Result) spread(t *table) {
	fair := func(f *Fairness, of string) string {
		return fmt.Sprintf("%.3f over %s (least %s, most %s pairs)", f.Jain, figures.Number(int64(f.Of), of), figures.Grouped(f.Least), figures.Grouped(f.Most))
	}
	var lines []string
	if f := r.Fairness.Workers; f != nil {
		lines = append(lines, fair(f, "worker"))
	}
	if f := r.Fairness.Processes; f != nil {
		lines = append(lines, fair(f, "process"), fmt.Sprintf("shares of processes from %s to %s", figures.Percent(f.LeastShare), figures.Percent(f.MostShare)))
	}
	for i, line := range lines {
		t.row([]string{"fairness", "", ""}[i], "%s", line)
	}
	t.row("attempts", "%s per grant", figures.Shown(r.Engine.AttemptsPerGrant, figures.Three))
	t.row("handoffs", "%s of grants, without asking Redis", figures.Shown(r.Engine.HandoffShare, figures.Percent))
}

// costs says what a pair cost the server and the clients. A server without readable counters, as one that refuses INFO, has no
// line of zeros.
func (r *Result) costs(t *table) {
	if r.Redis.Known {
		t.row("Redis", "%s CPU, %s commands per pair, %s of them scripts", figures.Shown(r.Redis.CPUPerPair, figures.Micros),
			figures.Shown(r.Redis.CommandsPerPair, figures.Three), figures.Shown(r.Redis.ScriptsPerPair, figures.Three))
		if a := r.Redis.Across; a.Scripts != nil {
			t.row("", "%s script calls, %s messages, %s commands per hand-over to another process", figures.Three(*a.Scripts), figures.Three(*a.Messages), figures.Three(*a.Commands))
		}
		if r.Redis.CheckCommands > 0 {
			t.row("", "besides %s for checks (%s), whose CPU is in it",
				figures.Number(r.Redis.CheckCommands, "command"), figures.Shown(r.Redis.CheckShare, figures.Percent))
		}
	} else {
		t.row("Redis", "n/a: what the server did is not known")
	}
	t.row("client", "%s CPU, %s allocations (%s) per pair", figures.Shown(r.Client.CPUPerPair, figures.Micros),
		figures.Shown(r.Client.AllocsPerPair, figures.Three), figures.Shown(r.Client.BytesPerPair, figures.Bytes))
	t.row("", "%s at most", figures.Number(r.Client.Goroutines, "goroutine"))
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
		{k.Timeouts, "timed out"}, {k.Failed, "failed"}, {k.Overstayed, "overstayed their lease"}, {k.Late, "started late"},
		{k.NotStarted, "never started"}, {k.GivenUp, "still waited at the end"},
	} {
		if c.n > 0 {
			words = append(words, figures.Grouped(c.n)+" "+c.what)
		}
	}
	if len(words) > 0 {
		t.row("other calls", "%s", strings.Join(words, ", "))
	}
	for _, text := range slices.Sorted(maps.Keys(k.Errors)) {
		t.row("", "%s× %s", figures.Grouped(k.Errors[text]), text)
	}
}

// checks says how far the proof goes: violations between processes show only in memory that they share, or in Redis.
func (r *Result) checks(t *table) {
	k := &r.Checks
	memory := "in memory"
	if r.Plan.Processes > 1 && k.SharedMemory {
		memory = "in shared memory"
	} else if r.Plan.Processes > 1 {
		memory = "in the memory of each process"
	}
	t.row("checked", "%s %s, %s of them in Redis too", figures.Number(k.Sections, "section"), memory, figures.Grouped(k.InRedis))
	if l := r.Latency.Check; l != nil {
		t.row("", "a check in Redis adds %s to its section (p50; p99 %s)", figures.Micros(l.P50), figures.Micros(l.P99))
	}
	if k.NoVerdict > 0 {
		t.row("", "%s in Redis gave no verdict: answer lost, or lease over", figures.Grouped(k.NoVerdict))
	}
	if r.OK {
		t.row("", "no violation, no key left behind, nobody stranded")
	}
}
