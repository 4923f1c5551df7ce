package load

import (
	"slices"
	"testing"
	"time"
)

func TestPaceIsEvenFromTheStart(t *testing.T) {
	p := pace{stretches: []stretch{{rate: 1000}}, processes: 1, start: 5000}
	for i := range Instant(100) {
		if due, want := p.take(), 5000+i*Instant(time.Millisecond); due != want {
			t.Fatalf("call %d is due at %d, want %d", i, due, want)
		}
	}
}

func TestPaceOfSeveralProcessesIsOneSchedule(t *testing.T) {
	var due []Instant
	for process := range 3 {
		p := pace{stretches: []stretch{{rate: 1000}}, process: float64(process), processes: 3}
		for range 10 {
			due = append(due, p.take())
		}
	}
	slices.Sort(due)
	for i := range due {
		if want := Instant(i) * Instant(time.Millisecond); due[i] != want {
			t.Fatalf("call %d of all is due at %d, want %d", i, due[i], want)
		}
	}
}

func TestPaceBacklog(t *testing.T) {
	p := pace{stretches: []stretch{{rate: 1000}}, processes: 1, start: 1000}
	for _, c := range []struct {
		after time.Duration
		begun int64
		want  int64
	}{
		{-time.Second, 0, 0}, {0, 0, 1}, {0, 1, 0}, {999 * time.Microsecond, 1, 0}, {time.Millisecond, 1, 1}, {10 * time.Millisecond, 4, 7},
	} {
		p.begun.Store(c.begun)
		if got := p.backlog(p.start + Instant(c.after)); got != c.want {
			t.Errorf("after %v with %d begun: backlog %d, want %d", c.after, c.begun, got, c.want)
		}
	}
	closed := pace{processes: 1}
	if due, backlog := closed.take(), closed.backlog(Now()); due != 0 || backlog != 0 {
		t.Errorf("closed loop: due %d, backlog %d; want 0, 0", due, backlog)
	}
}

// A schedule whose rate grows has no gap between its steps, and as many calls in each as its rate says.
func TestPaceOfARateThatGrows(t *testing.T) {
	plan := Plan{FromRate: 100, Rate: 400, Steps: 3, Warmup: time.Second, Duration: 3 * time.Second}
	p := pace{stretches: schedule(&plan), processes: 1, start: 1000}
	var inSecond [4]int
	for before := Instant(0); ; {
		due := p.take() - p.start
		if due-before > Instant(10*time.Millisecond) {
			t.Fatalf("a gap from %v to %v", time.Duration(before), time.Duration(due))
		}
		if before = due; due >= Instant(4*time.Second) {
			break
		}
		inSecond[due/Instant(time.Second)]++
	}
	if want := [4]int{100, 100, 200, 400}; inSecond != want {
		t.Errorf("calls in each second: %v, want %v", inSecond, want)
	}
	for after, want := range map[time.Duration]int64{time.Second: 101, 2500 * time.Millisecond: 301, 4 * time.Second: 801} {
		if got := p.backlog(p.start + Instant(after)); got != want {
			t.Errorf("after %v with none begun: backlog %d, want %d", after, got, want)
		}
	}
}
