package subscriber

import (
	"strconv"
	"testing"
)

// What was heard is summed up by channel, and the owner is told of the first message alone until it looks.
func TestNewsAreSummedUp(t *testing.T) {
	n := newNews()
	if !n.add("a", "-1") || n.add("a", "3") || n.add("b", "what is this") || n.add("a", "2") {
		t.Error("first is not the first message alone")
	}
	heard := n.take()
	if a, b := heard["a"], heard["b"]; len(heard) != 2 || a.N != 3 || a.Most != 3 || b.N != 1 || b.Most != 1 {
		t.Errorf("heard %+v", heard)
	}
	if len(n.take()) != 0 {
		t.Error("taken twice")
	}
	n.add("a", "-1")
	if heard := n.take(); heard["a"].Most != -1 {
		t.Errorf("heard %+v, want nothing of what was taken before", heard)
	}
}

// After a flood over many channels the subscriber is as small as before.
func TestNewsGiveTheirRoomBack(t *testing.T) {
	n := newNews()
	for i := range maxRead + 1 {
		n.add(strconv.Itoa(i), "0")
	}
	big := n.take()
	n.take()
	n.add("a", "0")
	if n.take(); len(big) != maxRead+1 {
		t.Errorf("a map of %d channels is used again", maxRead+1)
	}
}
