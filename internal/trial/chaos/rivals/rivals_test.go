package rivals

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

var (
	atLength = flag.Bool("at-length", false, "the whole comparison, about three minutes, not a handful of each")
	save     = flag.String("json", "", "a file for the result")
	tables   = flag.String("markdown", "", "a file for its tables")
)

// sizes say how often each fault strikes each rival.
type sizes struct {
	lease                                       time.Duration
	cancels, cuts, partitions, deletes, strands int
}

// Every rival goes through every fault that applies to it, and each time is accounted for.
func TestRivals(t *testing.T) {
	n := sizes{2 * time.Second, 64, 16, 2, 2, 4}
	if *atLength {
		n = sizes{5 * time.Second, 6000, 2400, 120, 120, 400}
	}
	r := result{Began: time.Now(), Lease: n.lease, Redis: resp.InfoFields(redistest.Start(t).MustDo("INFO", "server").Text)["redis_version"], Versions: versions()}
	p := keepPace(t.Context())
	t.Run("all", func(t *testing.T) { r.fill(t, p, n) })
	r.Lasted, r.Stood = time.Since(r.Began), p.stood(r.Began)
	t.Log("\n" + r.markdown())
	if *save != "" {
		if err := figures.SaveJSON(*save, r); err != nil {
			t.Error(err)
		}
	}
	if *tables != "" {
		if err := os.WriteFile(*tables, []byte(r.markdown()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// fill goes through all rows: one after the other where times count.
func (r *result) fill(t *testing.T, p *pace, n sizes) {
	through := func(name string, row func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			if !*atLength {
				t.Parallel()
			}
			row(t)
		})
	}
	through("cancels", func(t *testing.T) {
		r.Cancelled = compete(t, p, cancels, n.lease, func(f *field) cancelled { return cancelCalls(f, n.cancels) })
		for _, c := range r.Cancelled {
			if c.Void == 0 && (c.Calls[inFlight] == 0 || c.Calls[waiting] == 0) {
				t.Errorf("%s: no call was cancelled at some moment: %v", c.Rival, c.Calls)
			}
		}
	})
	through("cuts", func(t *testing.T) {
		r.Broken = compete(t, p, cuts, n.lease, func(f *field) broken { return breakCalls(f, n.cuts) })
		for _, b := range r.Broken {
			if b.Hits[acquireSwallowed] == 0 || b.Hits[releaseSwallowed] == 0 {
				t.Errorf("%s: no answer was swallowed: %v", b.Rival, b.Hits)
			}
		}
	})
	through("partitions", func(t *testing.T) {
		r.Partitions = compete(t, p, partitions, n.lease, func(f *field) partitioned { return partition(f, n.partitions) })
		for _, p := range r.Partitions {
			if p.Before+p.After+p.Never+p.Void != n.partitions {
				t.Errorf("%s: %d partitions gave %+v", p.Rival, n.partitions, p)
			}
		}
	})
	through("deletes", func(t *testing.T) {
		r.Deleted = compete(t, p, deletes, n.lease, func(f *field) deleted { return deleteKeys(f, n.deletes) })
		for _, d := range r.Deleted {
			if d.Never+d.Noticed.Count+d.Void != n.deletes {
				t.Errorf("%s: %d deleted keys gave %+v", d.Rival, n.deletes, d)
			}
		}
	})
	through("strands", func(t *testing.T) {
		r.Stranded = compete(t, p, strands, n.lease, func(f *field) stranded { return strand(f, n.strands) })
		for _, s := range r.Stranded {
			if s.Killed == 0 || s.Failed+s.Waits.Count+s.Void != n.strands {
				t.Errorf("%s: %d waits gave %+v", s.Rival, n.strands, s)
			}
		}
	})
}
