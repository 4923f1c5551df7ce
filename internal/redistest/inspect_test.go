package redistest

import "testing"

// Tests that nothing is sent would not notice counts that are always 0.
func TestCommandCounts(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.MustDo("CONFIG", "RESETSTAT")
	s.MustDo("EVAL", "redis.call('incr', KEYS[1]) return redis.call('incr', KEYS[1])", "1", "n")
	s.MustDo("CONFIG", "GET", "maxmemory")
	got := s.CommandCounts()
	for name, want := range map[string]int64{"eval": 1, "incr": 2, "config|get": 1, "hset": 0} {
		if got[name] != want {
			t.Errorf("%s ran %d times, want %d", name, got[name], want)
		}
	}
}
