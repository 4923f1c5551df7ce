package redistest

import (
	"strconv"
	"strings"
)

// SlotMove is a hash slot on its way from one master to another. Between the steps clients meet what a
// resharding shows them: the old owner answers ASK for keys that are gone, TRYAGAIN when only some of a
// command's keys are.
type SlotMove struct {
	From, To *Server

	cluster *Cluster
	number  int
	slot    string // number, as commands take it
}

// BeginMove opens the slot on both sides. Nothing has moved yet.
func (c *Cluster) BeginMove(slot int, to *Server) *SlotMove {
	c.tb.Helper()
	m := &SlotMove{From: c.NodeOf(slot), To: to, cluster: c, number: slot, slot: strconv.Itoa(slot)}
	if m.From == to {
		c.tb.Fatalf("redistest: slot %d is already served by %s", slot, to.Addr())
	}
	// The importing side first: the other order sends clients to a node that turns them away.
	to.MustDo("CLUSTER", "SETSLOT", m.slot, "IMPORTING", c.ids[m.From])
	m.From.MustDo("CLUSTER", "SETSLOT", m.slot, "MIGRATING", c.ids[to])
	return m
}

// Keys carries up to most keys of the slot over, with their remaining time to live, and returns how many
// it found; 0 says that the slot is empty. A key that ran out on the way counts as found.
func (m *SlotMove) Keys(most int) int {
	m.cluster.tb.Helper()
	keys := m.From.MustDo("CLUSTER", "GETKEYSINSLOT", m.slot, strconv.Itoa(most)).Texts()
	if len(keys) > 0 {
		m.Carry(keys...)
	}
	return len(keys)
}

// Carry carries these keys of the slot over, as Keys does.
func (m *SlotMove) Carry(keys ...string) {
	m.cluster.tb.Helper()
	migrate := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(m.To.server.Port), "", "0", "5000"}
	if password := m.To.server.Password; password != "" {
		migrate = append(migrate, "AUTH", password)
	}
	m.From.MustDo(append(append(migrate, "KEYS"), keys...)...)
}

// Complete carries over what is left of the slot, and finishes the move.
func (m *SlotMove) Complete() {
	m.cluster.tb.Helper()
	for m.Keys(100) > 0 {
	}
	m.Finish()
}

// Finish gives the slot to its new owner and returns once every running master says so. Keys that were
// left behind are lost to clients: call it when Keys gave 0.
func (m *SlotMove) Finish() {
	m.cluster.tb.Helper()
	c, id := m.cluster, m.cluster.ids[m.To]
	// The new owner first, then the old one: between the two both serve it, never neither.
	m.To.MustDo("CLUSTER", "SETSLOT", m.slot, "NODE", id)
	m.From.MustDo("CLUSTER", "SETSLOT", m.slot, "NODE", id)
	for _, node := range c.Nodes {
		if node == m.From || node == m.To || !node.alive() {
			continue
		}
		err := node.Do("CLUSTER", "SETSLOT", m.slot, "NODE", id).Err()
		if err != nil && !strings.Contains(err.Error(), "only with masters") {
			c.tb.Fatalf("redistest: slot %s: %v", m.slot, err)
		}
	}
	c.awaitOwner(m.number, m.To)
}

// awaitOwner waits until every running master holds a server to be the owner of a slot.
func (c *Cluster) awaitOwner(slot int, owner *Server) {
	c.tb.Helper()
	Await(c.tb, "masters that agree on slot "+strconv.Itoa(slot), func() bool {
		// Also on its epoch: were the slot moved on by who does not know it, two would claim it with the same right.
		epoch := readView(owner.Do("CLUSTER", "NODES").Text).self.epoch
		for _, node := range c.Nodes {
			if node.alive() && !agrees(node, slot, c.ids[owner], epoch) {
				return false
			}
		}
		return true
	})
}

// agrees reports whether a node, if it is a master, holds the one with this id and epoch to be the slot's owner.
func agrees(node *Server, slot int, id string, epoch int64) bool {
	view := readView(node.Do("CLUSTER", "NODES").Text)
	if !view.self.master {
		return true
	}
	for _, m := range view.every {
		if m.serves(slot) != (m.id == id) || m.id == id && m.epoch != epoch {
			return false
		}
	}
	return true
}

// MoveSlot moves a slot with all its keys to another master, as a resharding does, and returns once
// every running master knows. Keys that clients add meanwhile move too.
func (c *Cluster) MoveSlot(slot int, to *Server) {
	c.tb.Helper()
	move := c.BeginMove(slot, to)
	for move.Keys(100) > 0 {
	}
	move.Finish()
}

// MigrateSlot has the masters move a slot by themselves, all of it at one moment, as Redis does since 8.6 and Valkey since 9, and returns
// once every running master knows. False: these servers cannot.
func (c *Cluster) MigrateSlot(slot int, to *Server) bool {
	c.tb.Helper()
	from, number := c.NodeOf(slot), strconv.Itoa(slot)
	if to.Do("CLUSTER", "MIGRATION", "IMPORT", number, number).Err() != nil &&
		from.Do("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", number, number, "NODE", c.ids[to]).Err() != nil {
		return false
	}
	c.awaitOwner(slot, to)
	return true
}
