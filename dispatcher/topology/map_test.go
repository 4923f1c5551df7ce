package topology

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// What a real node tells is all of the slots, each once; also when it announces another address than its own.
func TestAskARealNode(t *testing.T) {
	c := redistest.StartCluster(t, 3, 0)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{c.Nodes[0].Addr()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	check := func(want []string) {
		t.Helper()
		m, err := Ask(context.Background(), client, c.Nodes[0].Addr())
		if err != nil {
			t.Fatal(err)
		}
		var served [16384]int
		for _, r := range m.Ranges {
			for slot := int(r.First); slot <= int(r.Last); slot++ {
				served[slot]++
			}
		}
		if slices.Max(served[:]) != 1 || slices.Min(served[:]) != 1 {
			t.Errorf("slots are served %d to %d times", slices.Min(served[:]), slices.Max(served[:]))
		}
		if got := m.Masters(); !slices.Equal(got, want) {
			t.Errorf("masters %q, want %q", got, want)
		}
	}
	addrs := c.Addrs()
	check(addrs)
	c.Nodes[0].MustDo("CONFIG", "SET", "cluster-announce-hostname", "elsewhere.example")
	c.Nodes[0].MustDo("CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint") // "as you have reached me"
	_, port, _ := net.SplitHostPort(addrs[0])
	check([]string{"127.0.0.1:" + port, addrs[1], addrs[2]})
}

// What a node tells is input: elements that are none are left out, whatever stands there. A script answers as it is told.
func TestReadMap(t *testing.T) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	read := func(said string) (*Map, error) {
		return readMap(client.Do(context.Background(), client.B().Eval().Script("return "+said).Numkeys(0).Build()), "own:1")
	}
	for said, want := range map[string]Range{
		"{0, 5, {'a', 7}}":                {0, 5, "a:7"},
		"{0, 0, {'a', 7}}":                {0, 0, "a:7"},
		"{16383, 16383, {'a', 7, 'id'}}":  {16383, 16383, "a:7"},
		"{1, 2, {'', 7}, {'replica', 8}}": {1, 2, "own:7"},
		"{1, 2, {false, 7}}":              {1, 2, "own:7"},
		"{1, 2, {'::1', 7, 'id', {'x'}}}": {1, 2, "[::1]:7"},
		"{'x', 2, {'a', 7}}":              {},
		"{1, 'x', {'a', 7}}":              {},
		"{1, 2, 'a'}":                     {},
		"{1, 2, {'a', 'x'}}":              {},
		"{1, 2, {'a'}}":                   {},
		"{1, 2, {'?', 7}}":                {},
		"{1, 2, {'a', 0}}":                {},
		"{1, 2, {'a', 65536}}":            {},
		"{1, 2, {'a', -1}}":               {},
		"{1, 2}":                          {},
		"7":                               {},
		"{-1, 2, {'a', 7}}":               {},
		"{2, 1, {'a', 7}}":                {},
		"{2, 16384, {'a', 7}}":            {},
		"{16384, 16384, {'a', 7}}":        {},
		"{-2, -1, {'a', 7}}":              {},
		"{{1}, 2, {'a', 7}}":              {},
	} {
		m, err := read("{" + said + ", {9, 9, {'b', 7}}}")
		if err != nil {
			t.Errorf("%s: %v", said, err)
			continue
		}
		ranges := []Range{want, {9, 9, "b:7"}}
		if want.Addr == "" {
			ranges = ranges[1:]
		}
		if !slices.Equal(m.Ranges, ranges) {
			t.Errorf("%s is read as %v, want %v", said, m.Ranges, ranges)
		}
	}
	if _, err := read("{}"); !errors.Is(err, ErrUnserved) {
		t.Errorf("no ranges: %v, want ErrUnserved", err)
	}
	for _, said := range []string{"7", "false", "{7}", "{{1, 2, {'?', 7}}}", "redis.error_reply('ERR no')"} {
		if m, err := read(said); err == nil {
			t.Errorf("%s is read as %v", said, m)
		}
	}
}

func TestUnserved(t *testing.T) {
	for _, c := range []struct {
		ranges []Range
		want   int
	}{
		{nil, 16384},
		{[]Range{{0, 16383, "a:1"}}, 0},
		{[]Range{{0, 10, "a:1"}, {11, 20, "b:1"}, {16383, 16383, "a:1"}}, 16384 - 22},
	} {
		if got := (&Map{Ranges: c.ranges}).Unserved(); got != c.want {
			t.Errorf("%v: %d hash slots are unserved, want %d", c.ranges, got, c.want)
		}
	}
}

// A master to which the first hash slot has just moved has a name, too: the rights of an engine are tried at one.
func TestKeyOfAMasterWithOneSlot(t *testing.T) {
	const prefix = "wheellock:probe:0b5c6a3e-6a67-8f5a-9d3b-1f0e5c2a7b10"
	for slot := uint16(0); slot < scripts.HashSlots; slot += 1171 {
		m := &Map{Ranges: []Range{{slot, slot, "one:1"}, {slot + 1, scripts.HashSlots - 1, "most:1"}}}
		if name := m.Key("one:1", prefix); name == "" || scripts.HashSlot(name) != slot {
			t.Errorf("the name for hash slot %d is %q", slot, name)
		}
		if name := m.Key("most:1", prefix); name == "" || scripts.HashSlot(name) <= slot {
			t.Errorf("the name for a hash slot above %d is %q", slot, name)
		}
	}
	if name := (&Map{}).Key("none:1", prefix); name != "" {
		t.Errorf("the name for no hash slot is %q", name)
	}
}
