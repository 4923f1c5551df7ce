package load

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// planOf is aPlan for a kind.
func planOf(k Kind) Plan {
	p := aPlan()
	p.Kind, p.Hold, p.Think = k, 100*time.Microsecond, time.Millisecond
	switch {
	case k == RW:
		p.Readers = 0.7
	case k.HasPermits():
		p.Permits = 3
	case k == Latch:
		p.Check = 0
	}
	return p
}

// startOthers starts the other servers of the kinds that have several.
func startOthers(t *testing.T) map[Kind][]*redistest.Server {
	t.Helper()
	return map[Kind][]*redistest.Server{Quorum: {redistest.Start(t), redistest.Start(t)}}
}

func TestRigKinds(t *testing.T) {
	server, others := redistest.Start(t), startOthers(t)
	for _, k := range Kinds {
		for _, async := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, async %t", k, async), func(t *testing.T) {
				plan := planOf(k)
				plan.Async = async
				all := run(open(t, server, Config{Plan: plan}, others[k]...), func(m *Sample) bool {
					return m.Counts.Pairs > 100 && m.Times.Acquire.Count() > 100 && (plan.Check == 0 || m.Counts.Witnessed > 0)
				})
				wantSoundRun(t, &plan, all)
				if sum := all.of(""); sum.Counts.Broken() != 0 {
					t.Errorf("counts %+v: a promise was broken", sum.Counts)
				}
				for _, key := range server.Keys() {
					if plan.IsPermits(key) && server.MustDo("GET", key).Text != "3" {
						t.Errorf("%s holds %s permits, want 3", key, server.MustDo("GET", key).Text)
					} else if !plan.IsPermits(key) && !plan.Remains(key) {
						t.Errorf("left in Redis: %q", key)
					}
				}
				server.MustDo("FLUSHALL")
			})
		}
	}
}

// Each proof finds what it is there for: here locks that promise something else, or an outsider who breaks them.
func TestRigFindsWhatIsBroken(t *testing.T) {
	apart := func(r *Rig, s *redistest.Server) { // each caller has the name for itself
		r.nameFor = func(caller, name int) string { return fmt.Sprintf("%s%d/%d", r.plan.Prefix, name, caller) }
	}
	more := func(r *Rig, s *redistest.Server) { s.MustDo("INCRBY", r.plan.Prefix+"0", "3") }
	violations := func(c *Counts) int64 { return c.Violations }
	seen := func(c *Counts) int64 { return c.SeenInRedis }
	for _, c := range []struct {
		name  string
		kind  Kind
		plant func(r *Rig, s *redistest.Server)
		found func(c *Counts) int64
	}{
		{"fair locks that do not exclude", Fair, apart, violations},
		{"fenced locks that do not exclude", Fenced, apart, violations},
		{"spin locks that do not exclude", Spin, apart, violations},
		{"writers with company", RW, apart, violations},
		{"writers with company, counted in Redis", RW, apart, seen},
		{"multi locks of which only the second excludes", Multi, apart, violations},
		{"more permits than there are", Semaphore, more, violations},
		{"more permits than there are, counted in Redis", Semaphore, more, seen},
		{"more permits with holders than there are", Permits, more, violations},
		{"limits that let more in", Limit, apart, violations},
		{"a fair lock that serves whom it likes", Fair, unfair, func(c *Counts) int64 { return c.Disordered }},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := redistest.Start(t)
			plan := planOf(c.kind)
			plan.Check, plan.Hold, plan.Think = 1, 2*time.Millisecond, 0
			r := open(t, server, Config{Plan: plan})
			c.plant(r, server)
			all := run(r, func(m *Sample) bool { return c.found(&m.Counts) > 0 })
			if sum := all.of(""); c.found(&sum.Counts) == 0 {
				t.Errorf("counts %+v", sum.Counts)
			}
		})
	}
}

// unfair has every third caller ask long after he thinks that he has.
func unfair(r *Rig, _ *redistest.Server) {
	r.limits.overtaking = time.Millisecond
	for i, made := range r.clients[0].resources {
		r.clients[0].resources[i] = &tardy{resource: made}
	}
}

type tardy struct {
	resource
	calls atomic.Int64
}

func (t *tardy) get(ctx context.Context, opts []engine.LockOption) (Grant, error) {
	if t.calls.Add(1)%3 == 0 {
		time.Sleep(20 * time.Millisecond) // sleeps: how late it comes
	}
	return t.resource.get(ctx, opts)
}

// A latch that is deleted under those who wait lets them pass before it was opened.
func TestRigFindsALatchThatIsPassedEarly(t *testing.T) {
	server := redistest.Start(t)
	plan := planOf(Latch)
	plan.Names, plan.Hold = 1, 50*time.Millisecond
	r := open(t, server, Config{Plan: plan})
	all := run(r, func(m *Sample) bool {
		server.MustDo("DEL", plan.name(0))
		server.MustDo("PUBLISH", scripts.LatchChannel(plan.name(0)), "0")
		return m.Counts.Early > 0
	})
	if c := all.of("").Counts; c.Early == 0 {
		t.Errorf("counts %+v: nobody was found who passed early", c)
	}
}

// A latch is opened also if the answer to the caller who shut it came long after AnswerTimeout.
func TestRigOpensALatchAfterALateAnswer(t *testing.T) {
	server := redistest.Start(t)
	plan := planOf(Latch)
	plan.Names, plan.Think = 1, 0
	cfg := Config{Plan: plan}
	cfg.Redis = []engine.Options{{AnswerTimeout: 10 * time.Millisecond}}
	pairs := int64(0)
	all := run(open(t, server, cfg), func(m *Sample) bool {
		if m.Counts.Pairs > pairs { // calls are under way
			pairs = m.Counts.Pairs
			server.Freeze()
			time.Sleep(50 * time.Millisecond) // sleeps: how late answers come
			server.Thaw()
		}
		return pairs > 200
	})
	if e := all.ending(t); len(e.Stranded) != 0 || e.Stuck != 0 {
		t.Errorf("ending %+v", e)
	}
}

// A token key that somebody sets back is found by the first owner after it.
func TestRigFindsATokenThatGoesBack(t *testing.T) {
	server := redistest.Start(t)
	plan := planOf(Fenced)
	plan.Names, plan.Handoff = 1, -1
	r, key := open(t, server, Config{Plan: plan}), scripts.TokenKey(plan.name(0))
	all := run(r, func(m *Sample) bool {
		if m.Counts.Pairs == 0 {
			server.MustDo("SET", key, "4000000000000000") // far above the server's time
		} else if m.Counts.Pairs > 20 {
			server.MustDo("DEL", key)
		}
		return m.Counts.TokensBack > 0
	})
	if c := all.of("").Counts; c.TokensBack == 0 || c.Violations != 0 {
		t.Errorf("counts %+v: want a token that went back, and nothing else", c)
	}
}

func TestCellRoom(t *testing.T) {
	now := Now()
	enter := func(c *cell, weights ...int64) (violated bool) {
		for _, w := range weights {
			violated = violated || c.join(w, writer, now, now).violated
		}
		return violated
	}
	for _, c := range []struct {
		name    string
		weights []int64
		want    bool
	}{
		{"a million readers", make([]int64, 0), false}, {"a writer", []int64{writer}, false}, {"two writers", []int64{writer, writer}, true},
		{"a reader and a writer", []int64{1, writer}, true}, {"a writer and a reader", []int64{writer, 1}, true},
	} {
		var in cell
		if c.name == "a million readers" {
			for range 1_000_000 {
				c.weights = append(c.weights, 1)
			}
		}
		if got := enter(&in, c.weights...); got != c.want {
			t.Errorf("%s: violated %t, want %t", c.name, got, c.want)
		}
		for _, w := range c.weights {
			in.part(w, now, 0)
		}
		if n := in.inside.Load(); n != 0 {
			t.Errorf("%s: %d inside when all have left", c.name, n)
		}
	}
}

func TestCellOrderAndTokens(t *testing.T) {
	var c cell
	for _, step := range []struct {
		asked Instant
		want  time.Duration
	}{{10 * ms, 0}, {30 * ms, 0}, {20 * ms, 10 * time.Millisecond}, {31 * ms, 0}} {
		if got := c.overtaken(step.asked); got != step.want {
			t.Errorf("who asked at %v was overtaken by %v, want %v", step.asked, got, step.want)
		}
	}
	for _, step := range []struct {
		token int64
		want  bool
	}{{5, true}, {5, false}, {4, false}, {6, true}} {
		if got := c.grows(step.token); got != step.want {
			t.Errorf("token %d grows: %t, want %t", step.token, got, step.want)
		}
	}
}

func TestPlanKnowsItsKeys(t *testing.T) {
	p := planOf(Semaphore)
	if keys := strings.Join(p.PermitKeys(), " "); keys != "loadgen:test:0 loadgen:test:1" || !p.IsPermits("loadgen:test:1") {
		t.Errorf("the permits are in %q", keys)
	}
	for key, want := range map[string]bool{
		CheckPrefix(p.Prefix) + "0": true, scripts.ReceiptKey(p.name(0), "uuid"): true, scripts.PermitsKey(p.name(0)): false, p.name(0): false,
	} {
		if got := p.Remains(key); got != want {
			t.Errorf("%s remains: %t, want %t", key, got, want)
		}
	}
	if p := planOf(Mutex); p.IsPermits(p.name(0)) || p.Remains(scripts.ReceiptKey(p.name(0), "uuid")) {
		t.Error("a mutex has neither permits nor receipts")
	}
	if p := planOf(Fenced); !p.Remains(scripts.TokenKey(p.name(0))) {
		t.Error("the token of a fenced lock stands for ever")
	}
}

// Whoever cannot set the permits says so.
func TestOpenSaysThatPermitsCannotBeSet(t *testing.T) {
	server := redistest.Start(t)
	plan := planOf(Semaphore)
	server.MustDo("RPUSH", plan.name(1), "no number")
	_, err := Open(t.Context(), Config{Plan: plan, Redis: []engine.Options{optionsOf(t, server)}, Cells: PrivateCells(plan.Names)})
	if err == nil || !strings.Contains(err.Error(), "setting the permits") {
		t.Errorf("error %v", err)
	}
}
