package gate

import (
	"testing"
	"time"
)

// A turn ends in time, and after so many grants for each caller once others were met.
func TestTurnsEnd(t *testing.T) {
	cfg := &Config{HandoffTime: 10 * time.Millisecond}
	const now = time.Hour
	for _, c := range []struct {
		name string
		t    turns
		over bool
	}{
		{"nobody was kept out", turns{began: 1, window: 1}, false},
		{"in its time", turns{began: now - longestTurn + 1, window: now - longestTurn + 1, handed: 1}, false},
		{"at the end of its time", turns{began: now - longestTurn, window: now, handed: 1}, true},
		{"long after the last long pause", turns{began: now, window: now - longestTurn, handed: 1}, true},
		{"before the last grant", turns{began: now, window: now, handed: 2*firstGrants - 1, known: unmet}, false},
		{"at the last grant", turns{began: now, window: now, handed: 2 * firstGrants, known: unmet}, true},
		{"before the last grant after a pause in vain", turns{began: now, window: now, handed: 4*firstGrants - 1, known: unmet - 1}, false},
		{"at the last grant after a pause in vain", turns{began: now, window: now, handed: 4 * firstGrants, known: unmet - 1}, true},
		{"a trial", turns{began: now - minYield + 1, window: now, handed: 1, trials: 1}, false},
		{"a trial that is over", turns{began: now - minYield, window: now, handed: 1, trials: 1}, true},
	} {
		if got := c.t.over(now, 2, cfg); got != c.over {
			t.Errorf("%s: over %v, want %v", c.name, got, c.over)
		}
	}
	for handed, over := range map[int32]bool{firstGrants - 1: false, firstGrants: true} {
		c := rivals{turns: turns{began: now, window: now, handed: handed, known: unmet}}
		if pause := c.pausePolling(now, 0, 1, cfg); pause > 0 != over {
			t.Errorf("after %d grants for one caller the name is left alone for %v", handed, pause)
		}
	}
}

// Others who were met are taken to be gone after so many pauses in vain; then two short turns follow each that are tried twice as often.
func TestOthersAreForgotten(t *testing.T) {
	const now = time.Hour
	met := turns{began: now, window: now, freedAt: now, known: 2, pause: true}
	met.noteOurs(now)
	if met.known != 1 || met.trials != 0 {
		t.Errorf("after a pause in vain: %+v", met)
	}
	met.pause = true
	met.noteOurs(now)
	if met.known != 0 || met.trials != 2*trials {
		t.Errorf("after the last pause in vain: %+v", met)
	}
	met.pause = true
	met.noteOurs(now)
	if met.trials != 2*trials-1 {
		t.Errorf("after a trial: %+v", met)
	}
	left := turns{began: now, window: now, freedAt: now - pollWindow, known: 3}
	left.noteOurs(now)
	if left.known != 3 {
		t.Errorf("after a time in which nobody wanted it: %+v", left)
	}
}

// A pause is as long as a poller sleeps when nothing is known of others, and after a long time; else in proportion.
func TestPausesOfTurns(t *testing.T) {
	const now = time.Hour
	for name, c := range map[string]struct {
		t    turns
		long bool
	}{
		"nothing is known":      {turns{began: now, window: now, met: now}, true},
		"a trial":               {turns{began: now, window: now, met: now, trials: 1}, false},
		"others were met":       {turns{began: now, window: now, met: now, known: 1}, false},
		"the last was long ago": {turns{began: now, window: now - longestTurn, met: now, known: 1, trials: 1}, true},
	} {
		if pause := c.t.leave(now, 1); pause == pollWindow != c.long {
			t.Errorf("%s: a pause of %v", name, pause)
		}
	}
	for name, c := range map[string]struct {
		t    turns
		kept bool
	}{
		"there was no turn":     {turns{freedAt: now, known: 1, handed: 1}, false},
		"nothing to be kept":    {turns{began: now, freedAt: now}, false},
		"others were met":       {turns{began: now, freedAt: now, known: 1}, true},
		"grants were handed on": {turns{began: now, freedAt: now, handed: 1}, true},
	} {
		if got := c.t.settled(); got == now+pollWindow != c.kept || got == Never == c.kept {
			t.Errorf("%s: remembered until %v", name, got)
		}
	}
}

// A freed name is left alone although nobody waits here only for others that poll, or that have it for a grant at a time.
func TestPausing(t *testing.T) {
	short := yielding{yield: minYield, shorts: shortAfter}
	for name, c := range map[string]struct {
		c    *rivals
		want bool
	}{
		"no rivals":                {&noRivals, false},
		"a turn ended":             {&rivals{turns: turns{pause: true}}, true},
		"a yield":                  {&rivals{yielding: yielding{yield: minYield}}, false},
		"a yield after short ones": {&rivals{yielding: short}, true},
		"short ones":               {&rivals{yielding: yielding{shorts: shortAfter}}, false},
	} {
		if got := c.c.pausing(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A tenure has its tokens to the last.
func TestTokensAreUsedToTheLast(t *testing.T) {
	if !(&tokens{64, 64}).any() || (&tokens{65, 64}).any() {
		t.Error("the last token of a block is not the last that is used")
	}
}

// What doubles with each pause in vain, and what grows with time, is bounded.
// invariant: others-get-a-turn
func TestTurnsAreBounded(t *testing.T) {
	cfg := &Config{HandoffTime: 10 * time.Millisecond}
	const now = time.Hour
	const most = firstGrants << doublings
	for handed, over := range map[int32]bool{most - 1: false, most: true} {
		long := turns{began: now, window: now, handed: handed, known: 1}
		if long.over(now, 1, cfg) != over {
			t.Errorf("after %d grants: over %v, want %v", handed, !over, over)
		}
	}
	met := turns{began: now, window: now, met: now - longestTurn, known: 1}
	if got := met.leave(now, 1); got != pollWindow {
		t.Errorf("others were met long ago: left alone for %v, want %v", got, pollWindow)
	}
	for before, after := range map[uint8]uint8{0: 0, 1: 0, 2: 1} {
		tried := turns{began: now, freedAt: now, pause: true, trials: before}
		if tried.noteOurs(now); tried.trials != after {
			t.Errorf("after %d trials %d are left, want %d", before, tried.trials, after)
		}
	}
	for waiters, least := range map[int32]time.Duration{2: commonSpin, 1000: firstSpin / 2} {
		c := rivals{}
		for n := range 300 { // more than a byte counts
			if sleep := c.spin(waiters, 7); n >= mostSpins && sleep < least {
				t.Fatalf("%d waiters sleep for %v after %d refusals, want %v at least", waiters, sleep, n, least)
			}
		}
	}
}
