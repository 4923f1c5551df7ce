package redismodel

import (
	"bytes"
	"fmt"
	"testing"
)

// stateOf is all that stands.
func stateOf(s *Server) []byte {
	return s.AppendRelative(nil, func(b []byte, text string) []byte { return fmt.Appendf(b, "%q", text) })
}

func TestASnapshotIsValidForEver(t *testing.T) {
	s := New(NewInterpreter())
	s.Micros = 1_700_000_000_000_000
	fill := func() {
		s.Do("HSET", "hash", "a", "1", "b", "2")
		s.Do("RPUSH", "list", "a", "b")
		s.Do("ZADD", "zset", "1", "a", "2", "b")
		s.Do("SET", "string", "x", "PX", "1000")
		s.Do("SADD", "set", "a", "b")
	}
	fill()
	was, state := s.Snapshot(), stateOf(s)
	for _, change := range [][]string{
		{"HSET", "hash", "a", "2"}, {"HDEL", "hash", "a"}, {"LPUSH", "list", "x"}, {"LREM", "list", "0", "b"}, {"ZADD", "zset", "1.5", "a"}, {"ZADD", "zset", "9", "a"},
		{"ZREM", "zset", "a"}, {"PEXPIRE", "string", "5"}, {"SET", "string", "y"}, {"DEL", "hash", "list"}, {"FLUSHALL"}, {"SADD", "set", "c"},
	} {
		s.Do(change...)
		if bytes.Equal(stateOf(s), state) {
			t.Errorf("%q changed nothing", change)
		}
		s.Restore(was)
		if got := stateOf(s); !bytes.Equal(got, state) {
			t.Fatalf("after %q and back: %q, want %q", change, got, state)
		}
	}
	s.Do("DEL", "set")
	s.Do("RPUSH", "set", "a", "b")
	if bytes.Equal(stateOf(s), state) {
		t.Error("a list is a set")
	}
	s.Restore(was)
	other := New(NewInterpreter())
	other.Restore(was)
	other.Do("HSET", "hash", "a", "2")
	if got := stateOf(s); !bytes.Equal(got, state) {
		t.Errorf("a server wrote into what stands on another: %q, want %q", got, state)
	}
}

func TestStatesAreEqualWhateverTheWay(t *testing.T) {
	a, b := New(NewInterpreter()), New(NewInterpreter())
	a.Do("HSET", "one", "a", "1", "b", "2")
	a.Do("SET", "two", "x")
	b.Do("SET", "two", "x")
	b.Do("HSET", "one", "b", "2")
	b.Do("HSET", "one", "a", "1")
	b.Do("SET", "three", "x", "PX", "5")
	b.Micros += 6000 // the key lives through its last millisecond
	if x, y := stateOf(a), stateOf(b); !bytes.Equal(x, y) {
		t.Errorf("%q and %q", x, y)
	}
}
