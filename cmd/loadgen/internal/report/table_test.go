package report

import (
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

func TestTable(t *testing.T) {
	var out strings.Builder
	collected().Account(facts()).Table(&out, 0)
	wantGolden(t, "table.golden", out.String())
}

func TestTableOfOneProcess(t *testing.T) {
	c := NewCollector(1)
	s := last(0)
	s.Counts = load.Counts{Pairs: 1000, Sections: 1000}
	s.Times.Across, s.Times.Check, s.Errors, s.Backlog = figures.Histogram{}, figures.Histogram{}, nil, 0
	c.Take(s)
	c.Take(ended(0, load.Ending{}))
	f := facts()
	f.Plan.Processes, f.Redis, f.Server.Kind, f.EndedEarly = 1, target.Reading{}, target.Embedded, true
	var out strings.Builder
	c.Account(f).Table(&out, 0)
	wantGolden(t, "table_embedded.golden", out.String())
}

func TestTableOfReadersAndWriters(t *testing.T) {
	f := facts()
	f.Plan.Kind, f.Plan.Readers = load.RW, 0.9
	var out strings.Builder
	collected().Account(f).Table(&out, 0)
	said := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"readers 1,800/s, writers 200/s", "readers 250 µs 450 µs 495 µs", "writers 1.50 ms 2.70 ms 2.97 ms"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

func TestDescribe(t *testing.T) {
	plain := load.Plan{Workers: 1, Names: 1, Processes: 1, Seed: 3}
	open := aPlan()
	open.Rate, open.Async, open.Handoff = 20000, true, 5*time.Millisecond
	for _, c := range []struct {
		plan load.Plan
		want string
	}{
		{plain, "1 blocking caller · closed loop · 1 name · leases renewed by the watchdog · 1 process · seed 3"},
		{aPlan(), "4 blocking callers · closed loop · 100 names (Zipf 0.99) · hold 1ms · wait at most 1m0s · leases of 1s · no local handoff · 2 processes · seed 7"},
		{open, "4 asynchronous callers · open loop at 20,000 calls/s · 100 names (Zipf 0.99) · hold 1ms · wait at most 1m0s · leases of 1s · local handoff for 5ms · 2 processes · seed 7"},
		{
			load.Plan{Workers: 9, Names: 1, Processes: 1, FromRate: 1000, Rate: 64000, Steps: 7},
			"9 blocking callers · open loop at 1,000 to 64,000 calls/s in 7 steps · 1 name · leases renewed by the watchdog · 1 process · seed 0",
		},
	} {
		if got := Describe(&c.plan); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
