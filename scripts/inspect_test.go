package scripts_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// What is bigger than any lock is told to be foreign, and not sent.
func TestInspectHasBounds(t *testing.T) {
	b := realBox(t)
	filled := func(t *testing.T, n, field, value string) *box {
		t.Helper()
		b := b.fresh(t)
		b.must("EVAL", `for i = 1, ARGV[1] do
	local field, value = string.rep('f', ARGV[2] - 8) .. string.format('%08d', i), string.rep('v', ARGV[3])
	redis.call('HSET', KEYS[1], field, value)
end
return 0`, "1", one, n, field, value)
		return b
	}
	refused := "[" + fault(scripts.Fault(21)) + " 0 0]" // a hash, but no lock
	for _, c := range []struct {
		what, n, field, value string
		foreign               bool
	}{
		{"so many owners", "65536", "8", "1", false},
		{"one too many", "65537", "8", "1", true},
		{"an owner as long as that", "1", "4096", "1", false},
		{"one too long", "1", "4097", "1", true},
		{"a value that is too long", "1", "8", "4097", true},
		{"4 MB", "512", "4096", "4096", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := filled(t, c.n, c.field, c.value).eval(scripts.Inspect, []string{one})
			if c.foreign {
				b.want(got, refused)
			} else if !strings.HasPrefix(got, "[0 -1 0 ") {
				t.Errorf("answered %.60s", got)
			}
		})
	}
	t.Run("a byte more", func(t *testing.T) {
		b := filled(t, "512", "4096", "4096")
		b.must("HSET", one, "x", "")
		b.want(b.eval(scripts.Inspect, []string{one}), refused)
	})
}

// A lease of centuries, and a counter that Lua cannot count with, are told as what fits.
func TestInspectTellsNumbersThatFit(t *testing.T) {
	b := realBox(t)
	b.must("HSET", one, "java:1", "3")
	for ttl, want := range map[string]string{"4398046521104": "4398046511104", "9000000000000000000": "4398046511104"} {
		b.must("PEXPIRE", one, ttl)
		b.want(b.eval(scripts.Inspect, []string{one}), "[0 "+want+" 0 java:1 3]", "TTL ", ttl, ":")
	}
	b.must("PERSIST", one)
	for token, want := range map[string]string{
		"9007199254740991": "9007199254740991", "9007199254740992": "0", "-9007199254740991": "-9007199254740991", "-9007199254740992": "0", "no number": "0",
	} {
		b.must("SET", counter, token)
		b.want(b.eval(scripts.Inspect, []string{one, counter}), "[0 -1 "+want+" java:1 3]", "token ", token, ":")
	}
}

// A user who may not look is told so; without the right to GET there is no token.
func TestInspectWithoutTheRightToRead(t *testing.T) {
	b := realBox(t)
	standing("java:1", "3")(b)
	b.must("SET", counter, "7")
	for _, command := range []string{"HLEN", "HGETALL", "PTTL", "GET"} {
		want := "[" + fault(scripts.NoPerm) + " 0 0]"
		if command == "GET" {
			want = "[0 70000 0 java:1 3]"
		}
		refused := answering(frozen(scripts.Inspect), command, "{ err = "+strconv.Quote(refusals[scripts.NoPerm])+" }")
		b.want(b.eval(refused, []string{one, counter}), want, "without ", command)
	}
}
