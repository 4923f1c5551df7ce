package chaos

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var soaking = flag.Duration("soak", 4*time.Second, "how long a soak lasts")

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
}

// findLeaks: a soak finds what leaks, in each of its measures but the receipts. The clients leak in rounds, and in each round all
// of them and Redis are measured: however slow the machine is, as much is lost, and the curves rise from first to last.
func findLeaks(t *testing.T) {
	p := soakPlan(time.Second)
	p.sample, p.slow = 50*time.Millisecond, 0
	const rounds = 24
	done := int64(0)
	p.faults = []fault{{name: "leak", onServer: true, strike: func(s *strike) bool {
		for ; done < rounds; done++ {
			for _, p := range s.clients {
				p.leak()
			}
			behind := func(p *process) bool { return p.lastGauge().Leaks <= done }
			if !s.await(func() bool { return !slices.ContainsFunc(s.clients, behind) }) {
				return false
			}
			measured := s.samples()
			if !s.await(func() bool { return s.samples() > measured }) {
				return false
			}
		}
		return true
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

// await waits until something is so. False: the phase is ruined.
func (ph *phase) await(so func() bool) bool {
	for ; !so(); time.Sleep(time.Millisecond) {
		if ph.tb.Failed() || ph.ruined() {
			return false
		}
	}
	return true
}

// samples counts how often Redis was measured so far.
func (ph *phase) samples() int {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return len(ph.served)
}
