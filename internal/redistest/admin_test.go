package redistest

import (
	"bufio"
	"reflect"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	for wire, want := range map[string]Reply{
		"+OK\r\n":            {Kind: '+', Text: "OK"},
		"-ERR no\r\n":        {Kind: '-', Text: "ERR no"},
		":-7\r\n":            {Kind: ':', Int: -7},
		"$4\r\na\r\nb\r\n":   {Kind: '$', Text: "a\r\nb"},
		"$-1\r\n":            {Kind: '$', Nil: true},
		"*-1\r\n":            {Kind: '*', Nil: true},
		"*2\r\n:1\r\n*0\r\n": {Kind: '*', Items: []Reply{{Kind: ':', Int: 1}, {Kind: '*'}}},
	} {
		got, err := readReply(bufio.NewReader(strings.NewReader(wire)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q read as %#v, %v; want %#v", wire, got, err, want)
		}
	}
	for _, wire := range []string{"", "\r\n", "?\r\n", "$x\r\n", "$5\r\nab", "*2\r\n:1\r\n"} {
		if got, err := readReply(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%q read as %v, want an error", wire, got)
		}
	}
}

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
