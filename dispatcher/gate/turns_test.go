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
		{"others listen, who have just come", turns{began: now, listen: 1, met: now}, true},
		{"others listen, who were met some time ago", turns{began: now - 500*time.Millisecond, listen: 1, met: now - time.Second}, true},
		{"a longer time ago, and they listen", turns{began: now - 500*time.Millisecond + 1, listen: 1, met: now - time.Second}, false},
		{"others listen, and had it for long", turns{began: now - 500*time.Millisecond + 1, listen: 1, met: now - 1, had: 500 * time.Millisecond}, false},
		{"others listen, and were met long ago", turns{began: now - longestTurn, listen: 1, met: 1}, true},
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

// Beside listeners a turn that is over in time goes on until a third of the callers had their grants.
func TestTurnsBesideListenersAreShared(t *testing.T) {
	for _, c := range []struct {
		listen, handed int32
		must           bool
	}{{1, 2, false}, {1, 3, true}, {0, 1, true}} {
		turn := turns{began: 1, handed: c.handed, listen: c.listen, met: 1}
		if is := turn.mustEnd(time.Hour, 7, 9); is != c.must {
			t.Errorf("beside %d listeners, after %d handoffs: must end %t", c.listen, c.handed, is)
		}
	}
}

// A place in line is kept alive by questions, however long the poll cap is.
func TestAPlaceInLineIsKeptAlive(t *testing.T) {
	if sleep := (&Config{PollCap: time.Hour}).sleep(-1, 7); sleep > placeTime/2 {
		t.Errorf("a waiter sleeps for %v, and a line lasts %v", sleep, placeTime)
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
	if left.end(now, pollWindow); left.ends != now+pollWindow || left.began != 0 || left.peekAt != now+peekPause {
		t.Errorf("a pause: %+v", left)
	}
	if left.noteMet(now); left.ends != 0 || left.began != 0 {
		t.Errorf("others have it: %+v", left)
	}
	left.noteMet(now + time.Second)
	if left.noteOurs(now + 2*time.Second); left.had != 2*time.Second || left.refused != 0 {
		t.Errorf("others had it for two seconds: %+v", left)
	}
	if left.end(now, pollWindow); left.had != 2*time.Second {
		t.Errorf("in the next pause: %+v", left)
	}
	if left.noteOurs(now + 3*time.Second); left.had != 0 {
		t.Errorf("after a pause in vain: %+v", left)
	}
	if left.begin(now + 4*time.Second); left.began != now+3*time.Second {
		t.Errorf("it has begun before: %+v", left)
	}
}

// One more who listens has come to wait, and no other is met by being counted.
func TestListenersAreMetWhenTheyCome(t *testing.T) {
	var c turns
	for i, step := range []struct {
		others int64
		met    bool
	}{{0, false}, {1, true}, {1, false}, {3, true}, {2, false}, {0, false}, {1, true}, {-1, false}, {0, false}} {
		now := Time(i+1) * time.Second
		if c.count(now, step.others); (c.met == now) != step.met || c.listen != max(int32(step.others), 0) {
			t.Errorf("count %d, of %d: %+v", i, step.others, c)
		}
	}
}

// The pause suits those who may come.
// invariant: others-get-a-turn
func TestPauses(t *testing.T) {
	const now = time.Hour
	for name, c := range map[string]struct {
		t     turns
		polls bool
		rtt   time.Duration
		want  time.Duration
	}{
		"they poll":                          {turns{}, true, 0, pollWindow},
		"they poll, and were met just now":   {turns{met: now}, true, 0, pollWindow},
		"nobody is known":                    {turns{}, false, 0, blindPause},
		"nobody listens any more":            {turns{met: now}, false, 0, blindPause},
		"they listen":                        {turns{listen: 1, met: now}, false, 0, shortestPause},
		"they listen, and we are far away":   {turns{listen: 1, met: now}, false, 50 * time.Millisecond, 100 * time.Millisecond},
		"they listen, and were met before":   {turns{listen: 1, met: now - 80*time.Millisecond}, false, 0, 40 * time.Millisecond},
		"they listen, and had it for long":   {turns{listen: 1, met: now, had: 70 * time.Millisecond}, false, 0, 70 * time.Millisecond},
		"they listen, and were met long ago": {turns{listen: 1, met: 1}, false, 0, pollWindow},
		"they listen, and we are very far":   {turns{listen: 1, met: 1}, false, time.Second, 2 * time.Second},
	} {
		if got := c.t.pause(now, 7, c.polls, &Config{RTT: c.rtt}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Where somebody listens who never comes, pauses grow, for it may be slow, but they take little of the time, and a turn and a pause never take
// more than a second.
func TestPausesInVainGrow(t *testing.T) {
	y, cfg := &turns{}, &Config{}
	y.noteOurs(time.Second)
	y.count(time.Second, 1)
	var paused, longest, now time.Duration
	for now = time.Second; now < time.Minute; now += time.Millisecond {
		if !y.over(now, 7) {
			continue
		}
		pause := y.pause(now, 7, false, cfg)
		if since := now - time.Second; since > 300*time.Millisecond && pause < 60*time.Millisecond {
			t.Errorf("a pause of %v after %v, in which nobody far away could come", pause, since)
		}
		longest = max(longest, now-y.began+pause)
		y.end(now, pause)
		y.freedAt = now
		paused, now = paused+pause, now+pause
		y.noteOurs(now)
	}
	if paused > (now-time.Second)/6 {
		t.Errorf("pauses of %v in %v", paused, now-time.Second)
	}
	if longest > time.Second {
		t.Errorf("a turn and its pause take %v", longest)
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
	for waiters, most := range map[int32]time.Duration{0: longestSpin, 1: longestSpin, 4: longestSpin / 4, 1000: time.Millisecond} {
		c := rivals{}
		for n := range 300 { // more than a byte counts
			if sleep := c.spin(waiters, false, 7); sleep > most || n >= mostSpins && sleep < most/2 {
				t.Fatalf("%d waiters sleep for %v after %d refusals, want %v at most, and half of it in the end", waiters, sleep, n, most)
			}
		}
	}
	c := rivals{}
	for n := range 300 {
		if sleep := c.spin(3, true, 7); sleep > longestPoll || n == 0 && sleep > time.Millisecond {
			t.Fatalf("the first in line sleeps for %v after %d refusals", sleep, n)
		}
	}
}
