package chaos

import "testing"

// The oracles of time find who was told late, or left behind.
func TestOraclesOfTime(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*made) func()
		want string
	}{
		{"never answered", func(m *made) func() { m.call(1, 0, 0, 0); return m.h.liveness }, "liveness"},
		{"answered long after its bound", func(m *made) func() {
			m.call(1, 0, 0, 9000, func(c *hold) { c.bound = 100 * ms }, unlockedIn(9001, 9002))
			return m.h.liveness
		}, "liveness"},
		{"left behind while the name was free", func(m *made) func() {
			m.call(1, 0, 2000, 2010, unlockedIn(2020, 2030))
			m.call(2, 0, 2005, 9000, unlockedIn(9001, 9002))
			return m.h.liveness
		}, "liveness"},
		{"woken at once", func(m *made) func() {
			m.call(1, 0, 2000, 2010, unlockedIn(8900, 8990))
			m.call(2, 0, 2005, 9000, unlockedIn(9001, 9002))
			return m.h.liveness
		}, ""},
		{"an error that no fault gives", func(m *made) func() {
			m.call(1, 0, 0, 0, func(c *hold) { c.deniedAt, c.denied = ms, isOther })
			return m.h.errors
		}, "errors"},
		{"a refusal", func(m *made) func() {
			m.call(1, 0, 0, 0, func(c *hold) { c.deniedAt, c.denied = ms, isRefused })
			return m.h.errors
		}, ""},
		{"a fault that never hit", func(m *made) func() {
			m.h.phase.faults = pick("SCRIPT FLUSH")
			return m.h.strikes
		}, "void"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newHistory(mutexes)
			if got := m.verdict(c.make(m)); got != c.want {
				t.Errorf("found %q, want %q: %v", got, c.want, m.h.violations)
			}
		})
	}
}
