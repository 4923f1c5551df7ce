package load

import (
	"context"
	"slices"
	"testing"
	"time"
)

// crowd is a library that lets so many in at once, whatever the names are.
type crowd chan struct{}

func (c crowd) Close() {}

func (c crowd) Lock(ctx context.Context, _ string) (Grant, error) {
	select {
	case c <- struct{}{}:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c crowd) Unlock(context.Context) error {
	<-c
	return nil
}

// aContest opens a rig whose callers use a library.
func aContest(t *testing.T, plan Plan, cells Cells, c Contest, l Library) *Rig {
	t.Helper()
	plan.Check = 0
	c.Open = func() (Library, error) { return l, nil }
	r, err := Open(t.Context(), Config{Plan: plan, Cells: cells, Contest: &c})
	if err != nil {
		t.Fatal(err)
	}
	r.interval = 20 * time.Millisecond
	return r
}

// As many as may be inside of a name are right, and one more is wrong.
func TestContestCountsWhoIsInside(t *testing.T) {
	for _, kind := range []Kind{Mutex, Limit} {
		room := map[Kind]int{Mutex: 1, Limit: 3}[kind]
		for _, inside := range []int{room, room + 1} {
			plan := aPlan()
			plan.Kind, plan.Permits, plan.Names, plan.Hold = kind, room, 1, time.Millisecond
			together := 0 // seen by a sample
			r := aContest(t, plan, PrivateCells(1), Contest{}, make(crowd, inside))
			all := run(r, func(m *Sample) bool {
				together = max(together, int(r.places[0][0].inside.Load()))
				return m.Counts.Violations > 0 || m.Counts.Pairs > 100 && together >= room
			})
			if broken := all.of("").Counts.Violations > 0; broken != (inside > room) {
				t.Errorf("%s of %d, %d inside: violated %t", kind, room, inside, broken)
			}
		}
	}
}

func TestContestGivesEachCallANameOfItsOwn(t *testing.T) {
	r := aContest(t, aPlan(), PrivateCells(2), Contest{Fresh: true}, make(crowd, 8))
	defer r.Close()
	r.plan.Names = 8
	var seen []string
	for _, c := range r.callers {
		c.fresh.prefix = "abcdefg:"
		for range 20 {
			c.begin()
			seen = append(seen, c.fresh.name)
		}
	}
	if seen[0] != "abcdefg:1000000000000001" || seen[20] != "abcdefg:1000010000000001" {
		t.Errorf("names %q and %q", seen[0], seen[20])
	}
	slices.Sort(seen)
	if n := len(slices.Compact(seen)); n != 8*20 {
		t.Errorf("%d names for %d calls", n, 8*20)
	}
	if allocations := testing.AllocsPerRun(100, func() { r.callers[3].fresh.next() }); allocations > 1 {
		t.Errorf("a name costs %g allocations, want 1", allocations)
	}
}

// A caller that is never served counts with its wait. A pair after one of another caller is a hand-over.
func TestContestSeesWhoStarves(t *testing.T) {
	plan := aPlan()
	plan.Names, plan.Workers = 1, 2
	full := make(crowd, 1)
	full <- struct{}{}
	all := run(aContest(t, plan, PrivateCells(1), Contest{}, full), func(m *Sample) bool { return m.Elapsed > 0 })
	if times := all.of(Measured).Times; times.Acquire.Count() != 2 {
		t.Errorf("%d waits, want those of 2 callers", times.Acquire.Count())
	}
	all = run(aContest(t, plan, PrivateCells(1), Contest{}, make(crowd, 1)), func(m *Sample) bool { return m.Counts.Handovers > 2 })
	if c := all.of(Measured).Counts; c.Handovers == 0 || c.Handovers > c.Pairs {
		t.Errorf("%d hand-overs in %d pairs", c.Handovers, c.Pairs)
	}
}

// Two processes that give a name to and fro have all of their pairs from each other.
func TestContestAlternates(t *testing.T) {
	plan := aPlan()
	plan.Names, plan.Workers, plan.Processes, plan.Hold = 1, 2, 2, 2*time.Millisecond
	cells, lock, found := PrivateCells(1), make(crowd, 1), make(chan samples, 2)
	for process := range 2 {
		p := plan
		r := aContest(t, p, cells, Contest{Alternate: true}, lock)
		r.process, r.callers[0].id = process, process
		go func() { found <- run(r, func(m *Sample) bool { return m.Times.Across.Count() > 5 }) }()
	}
	for range 2 {
		all := <-found
		sum := all.of("")
		if c := sum.Counts; c.Handovers < c.Pairs-1 || c.Broken() != 0 || c.Lost != 0 || c.Failed != 0 {
			t.Errorf("counts %+v", c)
		}
	}
}

// deaf never hears that its lock is free.
type deaf struct {
	crowd
	asked int
}

func (d *deaf) Lock(ctx context.Context, _ string) (Grant, error) {
	d.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

// A hand-over that does not come counts as lost, with the time that it took, and its waiter asks again.
func TestContestFindsALostHandover(t *testing.T) {
	plan := aPlan()
	plan.Names, plan.Workers, plan.Hold, plan.Warmup = 1, 1, time.Millisecond, 0
	d := &deaf{}
	r := aContest(t, plan, PrivateCells(1), Contest{Alternate: true}, d)
	r.limits = limits{forgotten: 20 * time.Millisecond, comeBack: r.limits.comeBack}
	all := run(r, func(m *Sample) bool { return m.Counts.Lost > 1 })
	m := all.of(Measured)
	if waits := m.Times.Across.Count(); m.Counts.Lost < 2 || int64(d.asked) <= m.Counts.Lost || waits < m.Counts.Lost || m.Times.Across.Percentile(50) < r.limits.forgotten {
		t.Errorf("%d lost, asked %d times, %d waits, half of them over %v", m.Counts.Lost, d.asked, waits, m.Times.Across.Percentile(50))
	}
	if m.Counts.Failed != 0 {
		t.Errorf("%d failed: %v", m.Counts.Failed, m.Errors)
	}
}
