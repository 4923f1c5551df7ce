package resp

import (
	"bufio"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
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
		got := Read(bufio.NewReader(strings.NewReader(wire)))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q read as %#v, want %#v", wire, got, want)
		}
	}
	for _, wire := range []string{"", "\r\n", "?\r\n", "$x\r\n", "$5\r\nab", "*2\r\n:1\r\n"} {
		if got := Read(bufio.NewReader(strings.NewReader(wire))); got.Lost() == nil {
			t.Errorf("%q read as %v, want an error", wire, got)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	got := string(AppendCommand(nil, "SET", "k", ""))
	if want := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCounters(t *testing.T) {
	read := func(text string) (c Counters) {
		if err := c.Add("run_id:abc\r\n" + text); err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := read("# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:2.0\r\nused_cpu_sys_children:9\r\n" +
		"total_net_input_bytes:100\r\ntotal_net_output_bytes:10\r\n" +
		"cmdstat_evalsha:calls=10,usec=5,usec_per_call=0.5\r\ncmdstat_get:calls=3,usec=1\r\n")
	after := read("used_cpu_sys:2.5\r\nused_cpu_user:2.25\r\n# Stats\r\ntotal_net_input_bytes:200\r\ntotal_net_output_bytes:60\r\n" +
		"cmdstat_evalsha:calls=30,usec=9\r\ncmdstat_get:calls=3,usec=1\r\ncmdstat_set:calls=7,usec=1\r\ncmdstat_info:calls=9,usec=1\r\n")
	did := after.Since(before)
	if did.CPU != 1250*time.Millisecond || did.NetIn != 100 || did.NetOut != 50 {
		t.Errorf("got %+v", did)
	}
	if want := map[string]int64{"evalsha": 20, "set": 7}; !maps.Equal(did.Commands, want) {
		t.Errorf("commands %v, want %v", did.Commands, want)
	}
	if sum := did.Plus(did); sum.Commands["evalsha"] != 40 || did.Commands["evalsha"] != 20 {
		t.Errorf("twice 20 calls are %d, and the 20 are %d now", sum.Commands["evalsha"], did.Commands["evalsha"])
	}
	var none Counters
	for _, text := range []string{"", "used_cpu_sys:1\r\nused_cpu_user:1\r\n", "used_cpu_sys:x\r\n"} {
		if none.Add(text) == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
