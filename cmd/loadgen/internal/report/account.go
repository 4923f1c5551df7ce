package report

import (
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Facts are what a run knows besides the samples.
type Facts struct {
	Title        string
	Started      time.Time
	Plan         load.Plan
	Server       Server
	Redis        target.Reading // what the server did while it was measured
	SharedMemory bool
	EndedEarly   bool
	KeysLeft     []string
	PermitsWrong []string
	Problems     []string       // why the run is not what it should be
	Died         map[int]string // processes that did not last to the end, and why
}

// Account makes the result.
func (c *Collector) Account(f *Facts) *Result {
	m := &c.measured
	pairs := float64(m.Counts.Pairs)
	r := &Result{
		Format: Format, Title: f.Title, Started: f.Started.UTC().Truncate(time.Second), Server: f.Server, Plan: f.Plan, EndedEarly: f.EndedEarly,
		Machine: Machine{runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()},
		Seconds: m.Elapsed.Seconds(), Pairs: m.Counts.Pairs, PairsPerSecond: figures.Share(pairs, m.Elapsed.Seconds()),
		Latency: Latencies{
			Acquire: latency(&m.Times.Acquire), Readers: latency(&m.Times.Readers), Writers: latency(&m.Times.Writers), Handover: latency(&m.Times.Handover),
			Across: latency(&m.Times.Across), StartLag: latency(&m.Times.StartLag), Check: latency(&m.Times.Check),
			Overtaken: latency(&m.Times.Overtaken),
		},
		Engine: EngineCounts{
			Engine: m.Engine, AttemptsPerGrant: figures.Share(float64(m.Engine.Attempts), float64(m.Engine.Granted)),
			HandoffShare: figures.Share(float64(m.Engine.Handoffs), float64(m.Engine.Granted)),
		},
		Client: ClientCosts{
			CPUPerPair: figures.Share(micros(m.Usage.CPU), pairs), AllocsPerPair: figures.Share(float64(m.Usage.Allocs), pairs),
			BytesPerPair: figures.Share(float64(m.Usage.Bytes), pairs), Goroutines: m.Goroutines,
		},
		Calls: Calls{
			Timeouts: m.Counts.Timeouts, Failed: m.Counts.Failed, Errors: m.Errors, Overstayed: m.Counts.Overstayed,
			Late: m.Counts.Late, NotStarted: m.Backlog,
		},
		Checks: Checks{
			Sections: m.Counts.Sections, SharedMemory: f.SharedMemory, InRedis: m.Counts.Witnessed, NoVerdict: m.Counts.Unwitnessed,
			Breaches: m.Counts.Breaches,
			KeysLeft: append([]string{}, f.KeysLeft...), PermitsWrong: append([]string{}, f.PermitsWrong...), Stranded: []string{},
		},
		PerSecond: append([]Second{}, c.seconds...), Problems: append([]string{}, f.Problems...),
	}
	figures.Add(&r.Checks.Breaches, &c.unplaced) // a breach in the warm-up or in the drain is one too
	r.Steps = c.stepsOf(&f.Plan)
	r.Schedule = r.schedule(m)
	if f.Plan.Kind == load.RW {
		r.ReadersPerSecond = figures.Share(float64(m.Counts.Reads), m.Elapsed.Seconds())
		r.WritersPerSecond = figures.Share(float64(m.Counts.Pairs-m.Counts.Reads), m.Elapsed.Seconds())
	}
	if m.Usage.CPU == 0 { // the system does not tell
		r.Client.CPUPerPair = nil
	}
	if r.Calls.Errors == nil {
		r.Calls.Errors = map[string]int64{}
	}
	r.Redis = redisCosts(&f.Redis, m, f.Plan.Kind.WitnessCommands())
	r.Fairness = c.fairness(f)
	c.endProcesses(r, f)
	r.judge(c)
	return r
}

// redisCosts is what the server did for the callers. The checks run their own commands on the same server: they are taken out of
// the counts, by name, and reported beside them. They stay in its CPU time, which nothing tells apart; CheckShare says what share
// of all commands they are.
func redisCosts(read *target.Reading, m *load.Sample, checks []string) RedisCosts {
	costs := RedisCosts{Known: read.Known, Commands: map[string]int64{}}
	costs.CheckCommands = int64(len(checks)) * m.Counts.Witnessed
	if !read.Known {
		return costs
	}
	maps.Copy(costs.Commands, read.Commands)
	// A section that is checked at the edge of the measured time may have its commands on one side and its count on the other.
	for _, command := range checks {
		costs.Commands[command] = max(costs.Commands[command]-m.Counts.Witnessed, 0)
	}
	total := int64(0)
	for _, n := range costs.Commands {
		total += n
	}
	pairs := float64(m.Counts.Pairs)
	costs.CommandsPerPair = figures.Share(float64(total), pairs)
	scripts, messages := costs.Commands["evalsha"]+costs.Commands["eval"], costs.Commands["publish"]+costs.Commands["spublish"]
	costs.ScriptsPerPair = figures.Share(float64(scripts), pairs)
	across := float64(m.Times.Across.Count())
	costs.Across = AcrossCosts{figures.Share(float64(total), across), figures.Share(float64(scripts), across), figures.Share(float64(messages), across)}
	costs.CPUPerPair = figures.Share(micros(read.CPU), pairs)
	costs.CheckShare = figures.Share(float64(costs.CheckCommands), float64(total+costs.CheckCommands))
	return costs
}

// fairness compares callers, and processes. In an open loop a caller that is free takes the next call that is due, so that
// the share of each says nothing about the lock.
func (c *Collector) fairness(f *Facts) (fair Fairnesses) {
	if f.Plan.Rate == 0 && !f.Plan.Grows() { // callers of later steps have less
		fair.Workers = fairness(c.measured.Callers)
	}
	var processes []int64
	for i := range c.processes {
		processes = append(processes, c.processes[i].Counts.Pairs)
	}
	fair.Processes = fairness(processes)
	return fair
}

// endProcesses reports how each process ended. One that died has no ending: the rest of its account is what its samples said.
func (c *Collector) endProcesses(r *Result, f *Facts) {
	down := ""
	for i := range c.processes {
		r.Processes = append(r.Processes, Process{Pairs: c.processes[i].Counts.Pairs, Died: f.Died[i]})
		if died := f.Died[i]; died != "" {
			r.Problems = append(r.Problems, fmt.Sprintf("process %d died: %s", i+1, died))
		}
		e := c.endings[i]
		if e == nil {
			continue
		}
		r.Calls.GivenUp += e.GivenUp
		r.Checks.Stranded = append(r.Checks.Stranded, e.Stranded...)
		r.Checks.Stuck += e.Stuck
		if e.Down {
			down = "Redis could not be reached at the end: nobody knows whether waiters were stranded"
		}
	}
	if down != "" {
		r.Problems = append(r.Problems, down)
	}
}

// fairness is how evenly x is spread. Nil: there is nobody to compare with, or nobody got anything.
func fairness(x []int64) *Fairness {
	if len(x) < 2 {
		return nil
	}
	f, sum := &Fairness{Of: len(x), Least: x[0], Most: x[0]}, int64(0)
	for _, n := range x {
		sum += n
		f.Least, f.Most = min(f.Least, n), max(f.Most, n)
	}
	if f.Jain = figures.Jain(x); f.Jain == 0 {
		return nil
	}
	f.LeastShare, f.MostShare = float64(f.Least)/float64(sum), float64(f.Most)/float64(sum)
	return f
}

func latency(h *figures.Histogram) *Latency {
	if h.Count() == 0 {
		return nil
	}
	at := func(p float64) float64 { return micros(h.Percentile(p)) }
	return &Latency{h.Count(), micros(h.Mean()), at(50), at(90), at(99), at(99.9), at(100), *h}
}

// percentile is in microseconds. Nil: nothing was recorded.
func percentile(h *figures.Histogram, p float64) *float64 {
	if h.Count() == 0 {
		return nil
	}
	us := micros(h.Percentile(p))
	return &us
}

// secondOf is a line of the report: the figures of one interval, or of one step. end is how much of the measured time was over then.
func secondOf(s *load.Sample, end time.Duration) Second {
	second := Second{
		End: end.Seconds(), AcquireP50: percentile(&s.Times.Acquire, 50), AcquireP99: percentile(&s.Times.Acquire, 99), AcquireMax: percentile(&s.Times.Acquire, 100),
		HandoverP50: percentile(&s.Times.Handover, 50), HandoverP99: percentile(&s.Times.Handover, 99),
		HandoffShare: figures.Share(float64(s.Engine.Handoffs), float64(s.Engine.Granted)),
		Waiting:      s.Waiting, Backlog: s.Backlog, Failed: s.Counts.Failed,
	}
	if s.Elapsed > 0 {
		second.PairsPerSecond = float64(s.Counts.Pairs) / s.Elapsed.Seconds()
	}
	return second
}

// stepsOf is what each step did.
func (c *Collector) stepsOf(p *load.Plan) []Step {
	steps := []Step{}
	if !p.Grows() {
		return steps
	}
	end := time.Duration(0)
	for i := range c.steps {
		end += c.steps[i].Elapsed
		steps = append(steps, Step{p.Callers(i), scheduleOf(&c.steps[i], p, i), secondOf(&c.steps[i], end)})
	}
	return steps
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }
