package gate

import "slices"

// rwLeases are the tenures of one read-write lock, the newest last: of readers, or of one writer.
type rwLeases []*rwLease

// of is the tenure of a living hold; nil: it has ended.
func (gs rwLeases) of(h *Hold) *rwLease {
	if !h.alive {
		return nil
	}
	for _, g := range gs {
		if g.phase == ours && g.ID == h.Tenure {
			return g
		}
	}
	return nil
}

// asking is the tenure that was asked for and of which nothing is known yet.
func (gs rwLeases) asking() *rwLease {
	for _, g := range gs {
		if g.phase == asked {
			return g
		}
	}
	return nil
}

// reads reports whether readers of ours have the name.
func (gs rwLeases) reads() bool {
	return slices.ContainsFunc(gs, func(g *rwLease) bool { return g.phase == ours && !g.write })
}

// admit reports whether w could be granted the name beside them. What is being freed is settled first (rule 4).
func (gs rwLeases) admit(w *Waiter) bool {
	for _, g := range gs {
		if w.Write || g.write || g.phase != ours {
			return false
		}
	}
	return true
}

// exclude reports whether somebody holds the name with whom who asks for it, perhaps to write, cannot have it.
func (gs rwLeases) exclude(write bool) bool {
	return slices.ContainsFunc(gs, func(g *rwLease) bool { return g.holds != nil && (write || g.write) })
}

func (gs *rwLeases) remove(g *rwLease) {
	*gs = slices.DeleteFunc(*gs, func(other *rwLease) bool { return other == g })
}
