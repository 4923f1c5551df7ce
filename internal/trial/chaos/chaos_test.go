package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
	kit "github.com/wheellock/wheellock/internal/testkit/figures"
)

var (
	lasting = flag.Duration("for", 13*time.Second, "how long the faults of a run last, in all")
	seed    = flag.Uint64("seed", 0, "of the run; 0: a new one")
	only    = flag.String("phases", "", "a regular expression: the phases to run")
	chosen  = flag.String("faults", "", "names of faults, with commas between: one phase with just these, on locks alone")
	save    = flag.String("json", "", "a file for the result")
)

func TestMain(m *testing.M) {
	if isClient, code := RunClient(); isClient {
		os.Exit(code)
	}
	testkit.Main(m)
}

// What many processes see of the engine under every fault is what the contract promises.
func TestChaos(t *testing.T) {
	r := result{Seed: *seed, Began: time.Now(), Hits: make(map[string]int)}
	if r.Seed == 0 {
		r.Seed = rand.Uint64N(1 << 40)
	}
	next := r.Seed
	var under, round time.Duration // under faults: so far, in one round
	for under+round <= *lasting && !t.Failed() {
		before := under
		for _, p := range wantedPlans() {
			next += 100
			under += p.lasts
			t.Run(p.name, func(t *testing.T) { r.phase(t, p, next) })
			r.Lasted = time.Since(r.Began)
			r.keep(t) // also of a run that somebody ends
		}
		if under == 0 {
			t.Fatalf("no phase is called %q", *only)
		}
		round = under - before
	}
	t.Log("\n" + r.table())
}

// keep writes what is known so far to the file for the result.
func (r *result) keep(t *testing.T) {
	if *save == "" {
		return
	}
	if err := kit.SaveJSON(*save, r); err != nil {
		t.Error(err)
	}
}

// wantedPlans are the phases of a round.
func wantedPlans() []plan {
	all := plans(*lasting)
	if *chosen != "" {
		p := all[0]
		p.name, p.kinds, p.faults = "chosen", lockKind, pick(strings.Split(*chosen, ",")...)
		return []plan{p}
	}
	wanted := regexp.MustCompile(*only)
	return slices.DeleteFunc(all, func(p plan) bool {
		return !wanted.MatchString(p.name) || *only == "" && isShort(*lasting) && slices.Contains(onlyLong, p.name)
	})
}

// phase runs one.
func (r *result) phase(t *testing.T, p plan, seed uint64) {
	n := len(r.Phases)
	r.Phases = append(r.Phases, phaseResult{Name: p.name, Seed: seed, Violations: []violation{{"void", "broken off"}}}) // until it ends
	h := run(t, p, seed)
	h.judge()
	r.Phases = r.Phases[:n]
	r.add(h)
	t.Logf("seed %d: %s", seed, h.line())
	for _, v := range h.violations {
		t.Errorf("%s: %s", v.Oracle, v.Text)
	}
}
