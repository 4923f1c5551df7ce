package gate

import (
	"testing"
	"time"
)

// A turn ends in time: sooner after others were met, and never while it keeps the name from nobody.
// invariant: others-get-a-turn
func TestTurnsEnd(t *testing.T) {
	const now = time.Hour
	for _, c := range []struct {
		name string
		t    turns
		over bool
	}{
		{"there is no turn", turns{handed: 1, met: now}, false},
		{"nobody was kept out", turns{began: 1}, false},
		{"in its time", turns{began: now - longestTurn + 1, handed: 1}, false},
		{"at the end of its time", turns{began: now - longestTurn, handed: 1}, true},
		{"others were met", turns{began: now - shortTurn*3/2, met: now - 2*shortTurn}, true},
		{"others were met just now", turns{began: now - shortTurn + 1, handed: 1, met: now - 1}, false},
		{"others were met some time ago", turns{began: now - 500*time.Millisecond, handed: 1, met: now - time.Second}, true},
		{"a longer time ago", turns{began: now - 500*time.Millisecond + 1, handed: 1, met: now - time.Second}, false},
		{"others had it for long", turns{began: now - 500*time.Millisecond + 1, handed: 1, met: now - 1, had: 500 * time.Millisecond}, false},
		{"as long as others had it", turns{began: now - 500*time.Millisecond, handed: 1, met: now - 1, had: 500 * time.Millisecond}, true},
		{"others were met long ago", turns{began: now - longestTurn + 1, handed: 1, met: 1}, false},
		{"long ago, and this keeps it from nobody", turns{began: 1, met: 1}, false},
	} {
		for seed := range uint64(20) {
			if got := c.t.over(now, seed); got != c.over {
				t.Errorf("%s: over %v, want %v", c.name, got, c.over)
			}
		}
	}
	lengths := make(map[time.Duration]bool)
	for seed := range uint64(20) {
		met := turns{met: now}
		length := met.length(now, seed)
		lengths[length] = true
		if length < shortTurn || length > shortTurn*3/2 {
			t.Errorf("after others were met a turn lasts for %v", length)
		}
	}
	if len(lengths) < 10 {
		t.Errorf("20 turns had %d lengths", len(lengths))
	}
}

// A turn goes on if the name was free only because no caller waited here, and begins anew after a pause, or when others had the name.
func TestTurnsBegin(t *testing.T) {
	const now = time.Hour
	for name, c := range map[string]struct {
		t    turns
		anew bool
	}{
		"nobody wanted it for a moment": {turns{began: 1, handed: 1, freedAt: now - pollWindow + 1}, false},
		"nobody wanted it for long":     {turns{began: 1, handed: 1, freedAt: now - pollWindow}, true},
		"after a pause":                 {turns{freedAt: now - 1, ends: now}, true},
		"the first":                     {turns{freedAt: now - 1}, true},
	} {
		if c.t.noteOurs(now); c.t.began == now != c.anew || c.t.handed == 0 != c.anew || c.t.ends != 0 {
			t.Errorf("%s: %+v", name, c.t)
		}
	}
	left := turns{began: 1, handed: 1}
	if left.leave(now); left.ends != now+pollWindow || left.began != 0 || left.peekAlarm() != now+peekPause {
		t.Errorf("a pause: %+v", left)
	}
	left.met = now
	if left.peekAlarm() != Never {
		t.Error("others were met in this pause, and it looks again")
	}
	if left.noteMet(now); left.ends != 0 || left.began != 0 || left.peekAlarm() != Never {
		t.Errorf("others have it: %+v", left)
	}
	left.noteMet(now + time.Second)
	if left.noteOurs(now + 2*time.Second); left.had != 2*time.Second || left.refused != 0 {
		t.Errorf("others had it for two seconds: %+v", left)
	}
	if left.leave(now); left.had != 2*time.Second {
		t.Errorf("in the next pause: %+v", left)
	}
	if left.noteOurs(now + 3*time.Second); left.had != 0 {
		t.Errorf("after a pause in vain: %+v", left)
	}
	for name, c := range map[string]struct {
		t    turns
		kept bool
	}{
		"nothing to be kept":    {turns{began: now, freedAt: now}, false},
		"others were met":       {turns{began: now, freedAt: now, met: now - 1}, true},
		"grants were handed on": {turns{began: now, freedAt: now, handed: 1}, true},
		"a pause":               {turns{freedAt: now, ends: now + pollWindow}, true},
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
		"a turn ended":             {&rivals{turns: turns{ends: 1}}, true},
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

// What grows with each refusal is bounded.
func TestSleepsOfPollersAreBounded(t *testing.T) {
	for waiters, least := range map[int32]time.Duration{2: commonSpin, 1000: firstSpin / 2} {
		c := rivals{}
		for n := range 300 { // more than a byte counts
			if sleep := c.spin(waiters, false, 7); n >= mostSpins && sleep < least {
				t.Fatalf("%d waiters sleep for %v after %d refusals, want %v at least", waiters, sleep, n, least)
			}
		}
	}
	c := rivals{}
	for n := range 300 {
		if sleep := c.spin(3, true, 7); sleep > longestPoll || n == 0 && sleep > firstSpin {
			t.Fatalf("the first in line sleeps for %v after %d refusals", sleep, n)
		}
	}
}
