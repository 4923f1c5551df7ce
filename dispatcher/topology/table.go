package topology

import "github.com/wheellock/wheellock/scripts"

// Table says which node serves each hash slot, as far as is known. The loop owns it. N is the loop's own idea of a node.
type Table[N comparable] struct {
	nodes [scripts.HashSlots]N
	count map[N]int
	moved map[uint16]bool
}

// NewTable returns a table in which one node serves everything: the stand-in for unknown nodes.
func NewTable[N comparable](unassigned N) *Table[N] {
	t := &Table[N]{count: map[N]int{unassigned: scripts.HashSlots}, moved: make(map[uint16]bool)}
	for slot := range t.nodes {
		t.nodes[slot] = unassigned
	}
	return t
}

// Serves returns the node that serves a hash slot.
func (t *Table[N]) Serves(slot uint16) N { return t.nodes[slot] }

// Count returns how many hash slots a node serves.
func (t *Table[N]) Count(n N) int { return t.count[n] }

// Assign records that a node serves a hash slot from now on.
func (t *Table[N]) Assign(slot uint16, to N) {
	from := t.nodes[slot]
	if from == to {
		return
	}
	if t.count[from]--; t.count[from] == 0 {
		delete(t.count, from) // the table must not keep a node that has left the cluster
	}
	t.count[to]++
	t.nodes[slot] = to
	t.moved[slot] = true
}

// Moved reports whether a hash slot was assigned to another node since the last ClearMoved.
func (t *Table[N]) Moved(slot uint16) bool { return t.moved[slot] }

// NoneMoved reports whether no hash slot has moved since the last ClearMoved.
func (t *Table[N]) NoneMoved() bool { return len(t.moved) == 0 }

// ClearMoved forgets which hash slots have moved. The caller has moved their names.
func (t *Table[N]) ClearMoved() { clear(t.moved) }
