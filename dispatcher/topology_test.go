package dispatcher

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
)

// A node names hosts as it knows them: by nothing at all it means its own.
func TestReadRedirect(t *testing.T) {
	for words, want := range map[string]redirect{
		"MOVED 3999 127.0.0.1:6381":  {slot: 3999, addr: "127.0.0.1:6381"},
		"ASK 0 127.0.0.1:6381":       {slot: 0, addr: "127.0.0.1:6381", ask: true},
		"MOVED 16383 :6381":          {slot: 16383, addr: "10.0.0.7:6381"},
		"MOVED 7 redis-2.local:6381": {slot: 7, addr: "redis-2.local:6381"},
		"MOVED 7 ::1:6381":           {slot: 7, addr: "[::1]:6381"},
		"MOVED 7 [::1]:6381":         {slot: 7, addr: "[::1]:6381"},
	} {
		if got, ok := readRedirect(words, "10.0.0.7:6379"); !ok || got != want {
			t.Errorf("readRedirect(%q) = %+v, %v; want %+v", words, got, ok, want)
		}
	}
	for _, words := range []string{"", "MOVED", "MOVED 7", "MOVED x 127.0.0.1:1", "MOVED 16384 127.0.0.1:1", "MOVED 7 host", "MOVED 7 ?:6379", "MOVEDTO 7 a:1", "ERR 7 a:1"} {
		if got, ok := readRedirect(words, "10.0.0.7:6379"); ok {
			t.Errorf("readRedirect(%q) = %+v, want none", words, got)
		}
	}
}

func FuzzReadRedirect(f *testing.F) {
	f.Add("MOVED 3999 127.0.0.1:6381", "10.0.0.7:6379")
	f.Add("ASK 1 :1", "")
	f.Fuzz(func(t *testing.T, words, asked string) {
		if r, ok := readRedirect(words, asked); ok && (r.slot >= 16384 || r.addr == "") {
			t.Errorf("readRedirect(%q, %q) = %+v", words, asked, r)
		}
	})
}

// What a real node tells is all of the slots, each once; also when it announces another address than its own.
func TestAskTopology(t *testing.T) {
	c := redistest.StartCluster(t, 3, 0)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{c.Nodes[0].Addr()}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	check := func(want []string) {
		t.Helper()
		topology, err := AskTopology(context.Background(), client, c.Nodes[0].Addr())
		if err != nil {
			t.Fatal(err)
		}
		var served [16384]int
		for _, p := range topology.parts {
			for slot := p.first; slot <= p.last; slot++ {
				served[slot]++
			}
		}
		if slices.Max(served[:]) != 1 || slices.Min(served[:]) != 1 {
			t.Errorf("slots are served %d to %d times", slices.Min(served[:]), slices.Max(served[:]))
		}
		if got := topology.Masters(); !slices.Equal(got, want) {
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
