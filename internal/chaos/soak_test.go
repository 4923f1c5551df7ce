package chaos

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	kit "github.com/wheellock/wheellock/internal/testkit/figures"
)

var soaking = flag.Duration("soak", 8*time.Second, "how long a soak lasts")

// Whatever is done, and for however long: the engine takes no more and more of anything, neither of its process nor of
// Redis, and leaves nothing.
func TestSoak(t *testing.T) {
	n := *seed
	if n == 0 {
		n = rand.Uint64N(1 << 40)
	}
	r := soak(t, soakPlan(*soaking), n)
	t.Log("\n" + r.table())
	for _, v := range r.Violations {
		t.Errorf("%s: %s", v.Oracle, v.Text)
	}
	if *save != "" {
		if err := kit.SaveJSON(*save, r); err != nil {
			t.Error(err)
		}
	}
}

// A soak finds what leaks, in each of its measures but the receipts.
func TestSoakFindsLeaks(t *testing.T) {
	p := soakPlan(time.Second)
	p.sample, p.leak, p.slow = 50*time.Millisecond, true, 0
	p.faults = []fault{{name: "time", onServer: true, strike: func(s *strike) bool { // however slow the machine is
		s.mu.Lock()
		defer s.mu.Unlock()
		few := func(p *process) bool { return len(p.said()) < 40 }
		return len(s.served) >= 40 && !slices.ContainsFunc(s.clients, few)
	}}}
	r := soak(t, p, 1)
	for _, trend := range r.Trends {
		if wanted := trend.What != "Redis, receipts"; trend.Grew != wanted {
			t.Errorf("%+v, want grew: %t", trend, wanted)
		}
	}
	for _, v := range r.Violations {
		if v.Oracle != "flat" {
			t.Errorf("%s: %s", v.Oracle, v.Text)
		}
	}
}
