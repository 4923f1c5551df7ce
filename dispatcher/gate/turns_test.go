package gate

import (
	"testing"
	"time"
)

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
