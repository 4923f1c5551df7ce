package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// aPlan has 8 callers contend for 2 names. It goes on until a test has seen enough; a minute is for those
// that never do.
func aPlan() Plan {
	return Plan{
		Prefix: "loadgen:test:", Names: 2, Workers: 8, Processes: 1, Check: 5,
		Warmup: 10 * time.Millisecond, Duration: time.Minute, Seed: 1,
	}
}

// open opens a rig on a server, or on several masters.
func open(t *testing.T, server *redistest.Server, cfg Config, others ...*redistest.Server) *Rig {
	t.Helper()
	answerTime := time.Minute // a call that is answered late, by a machine that stood still, is no failure
	if len(cfg.Redis) > 0 {
		answerTime = cfg.Redis[0].AnswerTimeout
	}
	cfg.Redis = []engine.Options{optionsOf(t, server)}
	for _, other := range others {
		cfg.Redis = append(cfg.Redis, optionsOf(t, other))
	}
	for i := range cfg.Redis {
		cfg.Redis[i].AnswerTimeout = answerTime
	}
	if cfg.Cells == nil {
		cfg.Cells = PrivateCells(cfg.Plan.Names)
	}
	r := testkit.MustOpen(t, func(ctx context.Context) (*Rig, error) { return Open(ctx, cfg) })
	r.interval = 20 * time.Millisecond
	r.limits.overtaking = time.Minute // a busy machine may stand still for a while
	return r
}

func optionsOf(t *testing.T, server *redistest.Server) engine.Options {
	t.Helper()
	o, err := engine.ParseURL(server.URL())
	testkit.Must(t, err)
	return o
}

// samples gathers what a run emits.
type samples []*Sample

func (s *samples) emit(sample *Sample) { *s = append(*s, sample) }

// of sums up a phase; no phase means all.
func (s samples) of(phase Phase) (sum Sample) {
	for _, sample := range s {
		if phase == "" || sample.Phase == phase {
			sum.Add(sample, true)
		}
	}
	return sum
}

// ending is the end of the run: the last sample has it, and no other.
func (s samples) ending(t *testing.T) *Ending {
	t.Helper()
	for i, sample := range s {
		if (sample.Ending != nil) != (i == len(s)-1) {
			t.Fatalf("sample %d of %d has the ending %+v", i+1, len(s), sample.Ending)
		}
	}
	return s[len(s)-1].Ending
}

// run runs a rig until what was measured is enough.
func run(r *Rig, enough func(measured *Sample) bool) (all samples) {
	end, stop := context.WithCancel(context.Background())
	defer stop()
	var measured Sample
	r.Run(end, context.Background(), func(s *Sample) {
		all.emit(s)
		if s.Phase == Measured {
			measured.Add(s, true)
		}
		if enough(&measured) {
			stop()
		}
	})
	return all
}

func TestRigModes(t *testing.T) {
	server := redistest.Start(t)
	for name, change := range map[string]func(*Plan){
		"blocking, closed loop":    func(p *Plan) {},
		"blocking, open loop":      func(p *Plan) { p.Rate = 500 },
		"async, closed loop":       func(p *Plan) { p.Async = true },
		"async, open loop":         func(p *Plan) { p.Async, p.Rate = true, 500 },
		"blocking, hold and think": func(p *Plan) { p.Hold, p.Think = 2*time.Millisecond, time.Millisecond },
		"async, hold and think":    func(p *Plan) { p.Async, p.Hold, p.Think = true, 2*time.Millisecond, time.Millisecond },
		"fixed leases":             func(p *Plan) { p.Lease = 10 * time.Second },
		"without handoff":          func(p *Plan) { p.Handoff = -1 },
		"skewed":                   func(p *Plan) { p.Names, p.Zipf = 50, 1.2 },
		"without checks in Redis":  func(p *Plan) { p.Check = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			plan := aPlan()
			change(&plan)
			all := run(open(t, server, Config{Plan: plan}), func(m *Sample) bool {
				return m.Counts.Pairs > 100 && m.Times.Acquire.Count() > 100 && (plan.Check == 0 || m.Counts.Witnessed > 0)
			})
			wantSoundRun(t, &plan, all)
			if keys := server.Keys(); len(keys) > 0 {
				t.Errorf("left in Redis: %q", keys)
			}
		})
	}
}

// wantSoundRun fails unless a run did what it should and found nothing wrong.
func wantSoundRun(t *testing.T, plan *Plan, all samples) {
	t.Helper()
	sum, measured := all.of(""), all.of(Measured)
	if c := sum.Counts; c.Violations != 0 || c.SeenInRedis != 0 || c.Failed != 0 {
		t.Errorf("counts %+v, errors %v: want no violation and no failure", c, sum.Errors)
	}
	if e := all.ending(t); len(e.Stranded) != 0 || e.Stuck != 0 || e.Down {
		t.Errorf("ending %+v", e)
	}
	if pairs, grants := measured.Counts.Pairs, measured.Times.Acquire.Count(); pairs <= 100 || grants <= 100 {
		t.Errorf("measured %d pairs and %d acquire times in a minute", pairs, grants)
	}
	if checked := measured.Counts.Witnessed > 0; checked != (plan.Check > 0) {
		t.Errorf("%d sections checked in Redis with --check %d", measured.Counts.Witnessed, plan.Check)
	}
	if n := len(measured.Callers); n != plan.Workers {
		t.Errorf("pairs of %d callers, want %d", n, plan.Workers)
	}
	pairs := int64(0)
	for _, n := range measured.Callers {
		pairs += n
	}
	if pairs != measured.Counts.Pairs {
		t.Errorf("callers count %d pairs together, the sample %d", pairs, measured.Counts.Pairs)
	}
	if times, c := &measured.Times, &measured.Counts; plan.Kind == RW {
		if n := times.Readers.Count() + times.Writers.Count(); n != times.Acquire.Count() || times.Writers.Count() == 0 || c.Reads == 0 || c.Reads >= c.Pairs {
			t.Errorf("%d readers and %d writers of %d, %d pairs of %d by readers: want all, and some of each", times.Readers.Count(), times.Writers.Count(), times.Acquire.Count(), c.Reads, c.Pairs)
		}
	} else if times.Readers.Count()+times.Writers.Count()+c.Reads != 0 {
		t.Errorf("readers or writers of a %s: %+v", plan.Kind, c)
	}
	if lag := measured.Times.StartLag.Count(); (lag > 0) != (plan.Rate > 0) {
		t.Errorf("%d start lags at rate %g", lag, plan.Rate)
	}
}

// A lock for each caller is a lock that excludes nobody.
func TestRigFindsViolationsInMemory(t *testing.T) {
	server := redistest.Start(t)
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprintf("async %t", async), func(t *testing.T) {
			plan := aPlan()
			plan.Names, plan.Async, plan.Hold = 1, async, time.Millisecond
			all := run(open(t, server, Config{
				Plan: plan, NameFor: func(caller, name int) string { return fmt.Sprintf("%s%d/%d", plan.Prefix, name, caller) },
			}), func(m *Sample) bool { return m.Counts.Violations > 0 })
			if n := all.of("").Counts.Violations; n == 0 {
				t.Error("8 callers who exclude nobody: no violation found")
			}
		})
	}
}

// Two processes that do not share memory, with locks of their own: only the counter in Redis can tell.
func TestRigFindsViolationsInRedis(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Workers, plan.Processes, plan.Check, plan.Hold = 1, 2, 2, 1, time.Millisecond
	found := make(chan Sample, 2)
	var seen atomic.Int64 // by both
	for process := range 2 {
		r := open(t, server, Config{
			Plan: plan, Process: process, NameFor: func(_, name int) string { return fmt.Sprintf("%s%d of %d", plan.Prefix, name, process) },
		})
		go func() {
			found <- run(r, func(m *Sample) bool { return seen.Add(m.Counts.SeenInRedis) > 0 }).of("")
		}()
	}
	a, b := <-found, <-found
	if n := a.Counts.SeenInRedis + b.Counts.SeenInRedis; n == 0 {
		t.Error("two processes in one section: the counter in Redis saw nothing")
	}
	if n := a.Counts.Violations + b.Counts.Violations; n != 0 {
		t.Errorf("%d violations found in memory that is not shared", n)
	}
}

// Leases that end inside of sections are told apart from violations.
func TestRigLeasesTooShort(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Check, plan.Lease, plan.Hold = 1, 1, 20*time.Millisecond, time.Hour
	all := run(open(t, server, Config{Plan: plan}), func(m *Sample) bool { return m.Counts.Overstayed > 2 })
	if c := all.of(Measured).Counts; c.Overstayed == 0 || c.Pairs != 0 {
		t.Errorf("counts %+v: want sections that overstayed, and no pair", c)
	}
	if c := all.of("").Counts; c.Violations != 0 || c.SeenInRedis != 0 {
		t.Errorf("counts %+v: want no violation", c)
	}
}

func TestRigWaitTimeouts(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Hold, plan.Wait = 1, time.Hour, 30*time.Millisecond
	all := run(open(t, server, Config{Plan: plan}), func(m *Sample) bool { return m.Counts.Timeouts > 2 })
	if sum := all.of(""); sum.Counts.Timeouts == 0 || sum.Counts.Failed != 0 {
		t.Errorf("counts %+v, errors %v: want timeouts and nothing else", sum.Counts, sum.Errors)
	}
}

// A key that somebody else put there keeps a waiter waiting although nobody of the run holds the name.
func TestRigFindsTheStranded(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Workers = 1, 2
	server.MustDo("HSET", plan.Prefix+"0", "somebody:1", "1")
	r := open(t, server, Config{Plan: plan})
	r.limits = limits{patience: time.Millisecond, recent: time.Millisecond, stranded: 50 * time.Millisecond, comeBack: r.limits.comeBack}
	all := run(r, func(m *Sample) bool { return m.Waiting == 2 })
	want := []string{plan.Prefix + "0", plan.Prefix + "0"}
	if e := all.ending(t); !slices.Equal(e.Stranded, want) || e.GivenUp != 0 || e.Stuck != 0 {
		t.Errorf("ending %+v, want the two waiters of %s stranded", e, want[0])
	}
}

// Who waits for a name in use is given up, and not called stranded.
func TestRigGivesUpWhoWaitsForANameInUse(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Workers = 1, 2
	server.MustDo("HSET", plan.Prefix+"0", "somebody:1", "1")
	cells := PrivateCells(1)
	cells[0].enter(watchedMark(99, 1), Now(), Now()) // a section of another process
	r := open(t, server, Config{Plan: plan, Cells: cells})
	r.limits = limits{patience: time.Millisecond, recent: time.Millisecond, stranded: 50 * time.Millisecond, comeBack: r.limits.comeBack}
	all := run(r, func(m *Sample) bool { return m.Waiting == 2 })
	if e := all.ending(t); e.GivenUp != 2 || len(e.Stranded) != 0 || e.Stuck != 0 {
		t.Errorf("ending %+v, want 2 given up", e)
	}
}

// Who is in a hurry gets an end at once, and no verdict on those who wait.
func TestRigHurries(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Workers = 1, 2
	server.MustDo("HSET", plan.Prefix+"0", "somebody:1", "1")
	r := open(t, server, Config{Plan: plan})
	r.limits.patience = time.Hour
	hurry, now := context.WithCancel(context.Background())
	var all samples
	r.Run(hurry, hurry, func(s *Sample) {
		if all.emit(s); s.Waiting == 2 {
			now()
		}
	})
	if e := all.ending(t); e.GivenUp != 2 || len(e.Stranded) != 0 || e.Stuck != 0 {
		t.Errorf("ending %+v, want 2 given up", e)
	}
}

func TestRigEndsEarly(t *testing.T) {
	server := redistest.Start(t)
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprintf("async %t", async), func(t *testing.T) {
			plan := aPlan()
			plan.Async, plan.Duration, plan.Hold, plan.Think = async, time.Hour, time.Hour, time.Hour
			r := open(t, server, Config{Plan: plan})
			all := run(r, func(m *Sample) bool { return m.Elapsed > 0 })
			if e := all.ending(t); len(e.Stranded) != 0 || e.Stuck != 0 {
				t.Errorf("ending %+v", e)
			}
			last := all[len(all)-2]
			if last.Phase != Measured || !last.Last || len(last.Callers) != plan.Workers {
				t.Errorf("the last measured sample is %+v", last)
			}
		})
	}
}

// An open loop does not slow down because the lock is slow: its calls are late, and their latency shows it.
func TestRigOpenLoopCountsFromWhenCallsAreDue(t *testing.T) {
	server := redistest.Start(t)
	plan := aPlan()
	plan.Names, plan.Workers, plan.Rate, plan.Hold, plan.Warmup = 1, 1, 1000, 10*time.Millisecond, 0
	// One caller serves at most one call in 10 ms, and ten come meanwhile. Counted from when it began, a call
	// would take next to no time.
	late := func(m *Sample) bool { return m.Times.Acquire.Percentile(50) > 200*time.Millisecond }
	m := run(open(t, server, Config{Plan: plan}), late).of(Measured)
	if !late(&m) || m.Counts.Late == 0 || m.Backlog == 0 {
		t.Errorf("p50 %v, %d late, backlog %d after %v: want all to grow", m.Times.Acquire.Percentile(50), m.Counts.Late, m.Backlog, m.Elapsed)
	}
}

// A server that does not answer at once is asked again.
func TestOpenWaitsForAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Freeze()
	time.AfterFunc(3*time.Second, server.Thaw) // a connection waits for two
	plan := aPlan()
	plan.Check = 0 // without a witness, who would be the one that waits
	r, err := Open(testkit.Soon(t), Config{Plan: plan, Redis: []engine.Options{optionsOf(t, server)}, Cells: PrivateCells(2)})
	testkit.Must(t, err)
	r.Close()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	o, err := engine.ParseURL("redis://127.0.0.1:1") // nobody will ever listen there
	testkit.Must(t, err)
	_, err = Open(context.Background(), Config{Plan: aPlan(), Redis: []engine.Options{o}, Cells: PrivateCells(2)})
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want one that says that the connection was refused", err)
	}
}

// A machine that stands still for longer than a step lasts cuts none of the steps to come short.
func TestRigStepsLastAfterAPause(t *testing.T) {
	const step = 200 * time.Millisecond
	plan := aPlan()
	plan.From, plan.Steps, plan.Duration = 1, 4, 4*step
	r := open(t, redistest.Start(t), Config{Plan: plan})
	r.interval = step
	lasted := make(map[int]time.Duration)
	r.Run(context.Background(), context.Background(), func(s *Sample) {
		if s.Phase != Measured {
			return
		}
		if len(lasted) == 0 {
			time.Sleep(3 * step) // sleeps: how long the machine stands still
		}
		lasted[s.Step] += s.Elapsed
	})
	for i := range 4 {
		if lasted[i] < step/4 {
			t.Errorf("step %d lasted %v, want %v", i, lasted[i], step)
		}
	}
}
