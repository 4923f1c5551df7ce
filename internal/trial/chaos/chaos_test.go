package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
)

var (
	lasting = flag.Duration("for", 13*time.Second, "how long the faults of a run last, in all")
	seed    = flag.Uint64("seed", 0, "of the run; 0: a new one")
	only    = flag.String("phases", "", "a regular expression: the phases to run")
)

func TestMain(m *testing.M) {
	if isClient, code := RunClient(); isClient {
		os.Exit(code)
	}
	testkit.Main(m)
}

// What many processes see of the engine under every fault is what the contract promises.
func TestChaos(t *testing.T) {
	next := *seed
	if next == 0 {
		next = rand.Uint64N(1 << 40)
	}
	t.Logf("-seed %d", next)
	var under, round time.Duration // under faults: so far, in one round
	for under+round <= *lasting && !t.Failed() {
		before := under
		for _, p := range wantedPlans() {
			next += 100
			under += p.lasts
			t.Run(p.name, func(t *testing.T) { judged(t, p, next) })
		}
		if under == 0 {
			t.Fatalf("no phase is called %q", *only)
		}
		round = under - before
	}
}

// judged runs a phase and says what was violated.
func judged(t *testing.T, p plan, seed uint64) {
	h := run(t, p, seed)
	h.judge()
	t.Log(h.line())
	for _, v := range h.violations {
		t.Errorf("%s: %s", v.Oracle, v.Text)
	}
}

// wantedPlans are the phases of a round.
func wantedPlans() []plan {
	wanted := regexp.MustCompile(*only)
	return slices.DeleteFunc(plans(*lasting), func(p plan) bool {
		return !wanted.MatchString(p.name) || *only == "" && isShort(*lasting) && p.name == onlyLong
	})
}
