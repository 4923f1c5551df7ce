package redistest

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, 3, 1)
	t.Run("shares all slots out among its masters", func(t *testing.T) {
		for slot, want := range map[int]*Server{0: c.Nodes[0], 5460: c.Nodes[0], 5461: c.Nodes[1], 10922: c.Nodes[2],
			slots - 1: c.Nodes[2]} {
			if got := c.NodeOf(slot); got != want {
				t.Errorf("slot %d is at %s, want %s", slot, got.Addr(), want.Addr())
			}
		}
		if len(c.Addrs()) != 6 {
			t.Errorf("addresses %q, want 6", c.Addrs())
		}
	})
	t.Run("moves a slot with its keys and their time to live", func(t *testing.T) { testMoveSlot(t, c) })
	t.Run("shows clients a slot on its way", func(t *testing.T) { testSlotOnItsWay(t, c) })
	t.Run("replaces a killed master", func(t *testing.T) {
		c.Nodes[2].Kill()
		Await(t, "the replica as a master", func() bool {
			return readView(c.Nodes[5].Do("CLUSTER", "NODES").Text).self.serves(slots - 1)
		})
		c.AwaitOK()
		if got := c.NodeOf(slots - 1); got != c.Nodes[5] {
			t.Errorf("the last slot is at %s, want %s", got.Addr(), c.Nodes[5].Addr())
		}
	})
}

func testMoveSlot(t *testing.T, c *Cluster) {
	slot := c.Slot("{stock}")
	from := c.NodeOf(slot)
	to := c.Nodes[0]
	if to == from {
		to = c.Nodes[1]
	}
	for i := range 250 { // more than go in one step
		from.MustDo("HSET", "{stock}:"+strconv.Itoa(i), "owner", "1")
		from.MustDo("PEXPIRE", "{stock}:"+strconv.Itoa(i), "600000")
	}
	for _, target := range []*Server{to, from, to} {
		c.MoveSlot(slot, target)
		if got := c.NodeOf(slot); got != target {
			t.Fatalf("slot %d is at %s, want %s", slot, got.Addr(), target.Addr())
		}
	}
	if left, moved := len(from.Keys()), len(to.Keys()); left != 0 || moved != 250 {
		t.Errorf("%d keys left behind and %d moved, want 0 and 250", left, moved)
	}
	if ttl := to.MustDo("PTTL", "{stock}:7").Int; ttl < 500_000 || ttl > 600_000 {
		t.Errorf("a moved key has %d ms to live, want nearly 600000", ttl)
	}
	if err := from.Do("HGETALL", "{stock}:7").Err(); err == nil || !strings.HasPrefix(err.Error(), "MOVED") {
		t.Errorf("the old owner says %v, want MOVED", err)
	}
}

func testSlotOnItsWay(t *testing.T, c *Cluster) {
	slot := c.Slot("{half}")
	from := c.NodeOf(slot)
	to := c.Nodes[2]
	if to == from {
		to = c.Nodes[1]
	}
	from.MustDo("MSET", "{half}:a", "1", "{half}:b", "2")
	move := c.BeginMove(slot, to)
	if move.From != from || move.To != to {
		t.Fatalf("moving from %s to %s", move.From.Addr(), move.To.Addr())
	}
	if moved := move.Keys(1); moved != 1 {
		t.Fatalf("moved %d keys, want 1", moved)
	}
	answers := func(args ...string) string { word, _, _ := strings.Cut(from.Do(args...).Text, " "); return word }
	if got := answers("MGET", "{half}:a", "{half}:b"); got != "TRYAGAIN" {
		t.Errorf("both keys: %q, want TRYAGAIN", got)
	}
	if got := answers("GET", "{half}:none"); got != "ASK" {
		t.Errorf("a key that is not there: %q, want ASK", got)
	}
	for move.Keys(10) > 0 {
	}
	move.Finish()
	if got := to.MustDo("MGET", "{half}:a", "{half}:b").Texts(); !reflect.DeepEqual(got, []string{"1", "2"}) {
		t.Errorf("at the new owner: %q, want 1 and 2", got)
	}
}

func TestReadView(t *testing.T) {
	v := readView("a1 127.0.0.1:1@2 myself,master - 0 0 3 connected 0-9 12 [13->-b2]\n" +
		"b2 127.0.0.1:3@4 slave a1 0 0 3 connected\n")
	want := view{
		self:  member{id: "a1", master: true, epoch: 3, ranges: [][2]int{{0, 9}, {12, 12}}},
		every: []member{{id: "a1", master: true, epoch: 3, ranges: [][2]int{{0, 9}, {12, 12}}}, {id: "b2", epoch: 3}},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, want %+v", v, want)
	}
	for slot, served := range map[int]bool{0: true, 9: true, 10: false, 12: true, 13: false} {
		if v.self.serves(slot) != served {
			t.Errorf("serves(%d) = %v", slot, !served)
		}
	}
}
