package chaos

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// taking is what a client takes that has so much of a processor, and so many bytes more with each look.
func taking(share float64, more int64) (all []usage) {
	for at := time.Duration(0); at <= 3*time.Second; at += watchEvery {
		all = append(all, usage{at: instant(at), cpu: time.Duration(share * float64(at)), memory: 10<<20 + int64(len(all))*more})
	}
	return all
}

// The oracle of outages finds who is busy, who grows and who does not go on.
func TestOracleOfOutages(t *testing.T) {
	down := span{500 * ms, 2500 * ms}
	for _, c := range []struct {
		name     string
		used     []usage
		answered instant   // of a call from before the end of the outage
		later    []instant // answers to calls from after it
		slack    time.Duration
		want     int // complaints
	}{
		{"quiet", taking(0.02, 0), 2600 * ms, nil, 0, 0},
		{"busy", taking(0.2, 0), 2600 * ms, nil, 0, 1},
		{"busy until the outage began", idleIn(taking(0.9, 0), down), 2600 * ms, nil, 0, 0},
		{"growing", taking(0.02, 4<<20), 2600 * ms, nil, 0, 1},
		{"left behind", taking(0.02, 0), 9000 * ms, nil, 0, 1},
		{"never answered", taking(0.02, 0), 0, nil, 0, 1},
		{"late", taking(0.02, 0), 4900 * ms, []instant{3700 * ms}, 0, 1},
		{"late in its turn, on a slow machine", taking(0.02, 0), 4900 * ms, []instant{3700 * ms}, time.Second / 5, 0},
		{"overtaken, on a slow machine", taking(0.02, 0), 4900 * ms, []instant{3300 * ms, 4100 * ms}, time.Second / 5, 1},
		{"left behind, on a slow machine", taking(0.02, 0), 9000 * ms, nil, time.Second / 5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := during(c.used, down)
			calls := []*hold{{calledAt: 400 * ms, grantedAt: c.answered}, {calledAt: 2550 * ms}}
			for _, at := range c.later {
				calls = append(calls, &hold{calledAt: 2550 * ms, grantedAt: at})
			}
			o.resumed(calls, 2500*ms, never, c.slack)
			complaints := 0
			o.judge(func(format string, args ...any) { complaints++; t.Logf(format, args...) })
			if complaints != c.want {
				t.Errorf("%d complaints, want %d: %+v", complaints, c.want, o)
			}
		})
	}
}

// idleIn has the processor time stand still from the beginning of the outage.
func idleIn(all []usage, down span) []usage {
	for i := range all {
		if all[i].at > down.from {
			all[i].cpu = all[i-1].cpu
		}
	}
	return all
}

// hungryVariable has a child of a test take memory until it is killed.
const hungryVariable = "WHEELLOCK_CHAOS_HUNGRY"

// A process that takes more memory than a client may have is killed, and said to have been.
func TestWatchKillsAProcessThatGrows(t *testing.T) {
	if os.Getenv(hungryVariable) != "" {
		for kept := [][]byte(nil); ; time.Sleep(time.Millisecond) {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			kept = append(kept, b)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestWatchKillsAProcessThatGrows$")
	cmd.Env = append(os.Environ(), hungryVariable+"=yes")
	p := &process{read: make(chan struct{}), watched: make(chan struct{}), most: 64 << 20}
	close(p.read)
	p.child = redistest.StartChild(t, cmd)
	go p.watch()
	left := restWithin
	if !running(p.watched, &left) || p.ruin() == "" {
		t.Errorf("the process lives on, or nobody knows why it does not: %q", p.ruin())
	}
	used := p.used()
	if last := used[len(used)-1]; last.memory < 64<<20 || last.peak < last.memory || last.cpu <= 0 {
		t.Errorf("in the end it had taken %+v", last)
	}
}
