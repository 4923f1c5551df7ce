package redistest

import (
	"strings"
	"testing"
)

func TestMonitor(t *testing.T) {
	t.Parallel()
	s := Start(t)
	t.Run("has every command that was answered, in order", func(t *testing.T) {
		m := s.Monitor()
		s.MustDo("SET", "k", "a b")
		s.MustDo("EVAL", "return redis.call('GET', KEYS[1])", "1", "k")
		lines := m.Stop()
		want := []string{`"SET" "k" "a b"`, `"EVAL" `, `lua] "GET" "k"`}
		if len(lines) != len(want) {
			t.Fatalf("%d lines %q, want %d", len(lines), lines, len(want))
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) {
				t.Errorf("line %d is %q, want %q in it", i, lines[i], want[i])
			}
		}
		s.MustDo("SET", "k", "later")
		if again := m.Stop(); len(again) != len(lines) {
			t.Errorf("stopped again it has %d lines, want the same %d", len(again), len(lines))
		}
	})
	t.Run("gives each command once", func(t *testing.T) {
		m := s.Monitor()
		s.MustDo("SET", "k", "first")
		var taken []string
		Await(t, "the line", func() bool { taken = append(taken, m.Take()...); return len(taken) > 0 })
		s.MustDo("SET", "k", "second")
		if taken = append(taken, m.Stop()...); len(taken) != 2 || !strings.Contains(taken[0], "first") || !strings.Contains(taken[1], "second") {
			t.Errorf("taken are %q", taken)
		}
	})
	t.Run("keeps what it has when the server dies", func(t *testing.T) {
		m := s.Monitor()
		s.MustDo("SET", "last", "words")
		Await(t, "the line", func() bool { m.mu.Lock(); defer m.mu.Unlock(); return len(m.lines) == 1 })
		s.Kill()
		if lines := m.Stop(); len(lines) != 1 {
			t.Errorf("lines %q, want one", lines)
		}
	})
}
