package topology

import (
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

func TestTable(t *testing.T) {
	table := NewTable("nobody")
	if n := table.Count("nobody"); n != scripts.HashSlots || table.Serves(7) != "nobody" || !table.NoneMoved() {
		t.Errorf("a new table: %d hash slots of nobody, none moved %v", n, table.NoneMoved())
	}
	for slot := range uint16(scripts.HashSlots) {
		table.Assign(slot, "a")
	}
	table.Assign(7, "b")
	if table.Serves(7) != "b" || table.Serves(8) != "a" || table.Count("a") != scripts.HashSlots-1 || table.Count("b") != 1 || table.Count("nobody") != 0 {
		t.Errorf("slot 7 is served by %s; a serves %d, b %d, nobody %d", table.Serves(7), table.Count("a"), table.Count("b"), table.Count("nobody"))
	}
	if !table.Moved(7) || !table.Moved(8) || table.NoneMoved() {
		t.Error("hash slots that were given away have not moved")
	}
	table.ClearMoved()
	table.Assign(7, "b")
	if table.Moved(7) || !table.NoneMoved() {
		t.Error("a hash slot has moved to where it was")
	}
	table.Assign(7, "a")
	if len(table.count) != 1 {
		t.Errorf("the table keeps %d nodes, want the one that serves something", len(table.count))
	}
}
