package redistest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	s := Start(t)
	t.Run("lists every key once", func(t *testing.T) {
		var want []string
		for i := range 2500 {
			want = append(want, fmt.Sprintf("key:%04d", i))
			s.MustDo("SET", want[i], "x")
		}
		if got := s.Keys(); !slices.Equal(got, want) {
			t.Errorf("%d keys, want %d", len(got), len(want))
		}
		s.MustDo("FLUSHALL")
	})
	t.Run("counts commands, also those of scripts", func(t *testing.T) {
		s.MustDo("CONFIG", "RESETSTAT")
		s.MustDo("EVAL", "redis.call('incr', KEYS[1]) return redis.call('incr', KEYS[1])", "1", "n")
		s.MustDo("CONFIG", "GET", "maxmemory")
		got := s.CommandCounts()
		for name, want := range map[string]int64{"eval": 1, "incr": 2, "config|get": 1, "hset": 0} {
			if got[name] != want {
				t.Errorf("%s ran %d times, want %d", name, got[name], want)
			}
		}
	})
	t.Run("counts and kills clients, not itself", func(t *testing.T) {
		m := s.Monitor()
		one, two, listening := dial(t, s), dial(t, s), dial(t, s)
		one.ask("PING")
		two.ask("PING")
		listening.ask("SUBSCRIBE", "news")
		if normal, pubsub := s.ClientCount("normal"), s.ClientCount("pubsub"); normal != 2 || pubsub != 1 {
			t.Fatalf("%d normal and %d pubsub clients, want 2 and 1", normal, pubsub)
		}
		if killed := s.KillClients("normal"); killed != 2 {
			t.Errorf("killed %d, want 2", killed)
		}
		one.wantEOF()
		two.wantEOF()
		if killed := s.KillClients("pubsub"); killed != 1 {
			t.Errorf("killed %d, want 1", killed)
		}
		listening.wantEOF()
		if lines := m.Stop(); len(lines) == 0 {
			t.Error("the monitor was killed too")
		}
	})
	t.Run("tells who listens to what", func(t *testing.T) {
		c := dial(t, s)
		for _, command := range []string{"SUBSCRIBE b", "SUBSCRIBE a", "PSUBSCRIBE p*", "SSUBSCRIBE shard"} {
			c.ask(strings.Fields(command)...)
		}
		want := Subscriptions{Channels: []string{"a", "b"}, Shard: []string{"shard"}, Patterns: 1}
		if got := s.Subscriptions(); !reflect.DeepEqual(got, want) || got.Count() != 4 {
			t.Errorf("%+v, count %d; want %+v, 4", got, got.Count(), want)
		}
		s.KillClients("pubsub")
		if got := s.Subscriptions().Count(); got != 0 {
			t.Errorf("%d subscriptions of killed clients", got)
		}
	})
}
