package load

import (
	"slices"
	"testing"
	"time"
)

func TestPaceIsEvenFromTheStart(t *testing.T) {
	p := pace{rate: 1000, processes: 1, start: 5000}
	for i := range Instant(100) {
		if due, want := p.take(), 5000+i*Instant(time.Millisecond); due != want {
			t.Fatalf("call %d is due at %d, want %d", i, due, want)
		}
	}
}

func TestPaceOfSeveralProcessesIsOneSchedule(t *testing.T) {
	var due []Instant
	for process := range 3 {
		p := pace{rate: 1000, process: float64(process), processes: 3}
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
	p := pace{rate: 1000, processes: 1, start: 1000}
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
