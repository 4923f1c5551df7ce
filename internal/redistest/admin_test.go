package redistest

import (
	"strings"
	"testing"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	s := Start(t)
	t.Run("tells a Redis error from an answer", func(t *testing.T) {
		s.MustDo("SET", "word", "x")
		if err := s.Do("INCR", "word").Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR value is not") {
			t.Errorf("error %v, want the server's", err)
		}
		if got := s.MustDo("GET", "missing"); !got.Nil {
			t.Errorf("a missing key reads as %v, want nil", got)
		}
	})
	t.Run("mends itself after its connection was killed", func(t *testing.T) {
		other := dial(t, s)
		id := s.MustDo("CLIENT", "ID")
		if killed := other.ask("CLIENT", "KILL", "ID", id.String()); killed.Int != 1 {
			t.Fatalf("killed %v connections, want 1", killed)
		}
		s.MustDo("PING")
	})
	t.Run("gives an error while the server is dead", func(t *testing.T) {
		s.Kill()
		if err := s.Do("PING").Err(); err == nil {
			t.Error("a dead server answered")
		}
		s.Restart()
		s.MustDo("PING")
	})
}
