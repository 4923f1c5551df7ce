package redistest

import (
	"reflect"
	"testing"
)

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
