package gate

import (
	"slices"
	"time"
)

// rwLease is a tenure of a read-write lock, from the question for it until it is freed.
type rwLease struct {
	ownership
	growing growths
	pendingAck
	joinBy Time  // until when readers may join
	extent Time  // when its keys run out, less a margin, if nobody lowers their TTL; for a writer, Deadline
	askAt  Time  // when the release or the downgrade may be sent, again
	writes int32 // living holds that exclude
	writer bool  // it was taken as a writer's
	write  bool  // in Redis it is a writer's, unless it is torn
	torn   bool  // a downgrade got no answer: it may be a reader's
}

// maxShares is how many read tenures this process has at most at once.
const maxShares = 2

// WriterSuffix ends the owner field of a writer, as in Redisson.
const WriterSuffix = ":write"

func releaseOf(write bool) Op {
	if write {
		return ReleaseWrite
	}
	return ReleaseRead
}

// lowering reports whether the writes have ended and reads of the same Owner are left: a downgrade is due.
func (g *rwLease) lowering() bool {
	return g.phase == ours && g.write && g.writes == 0 && g.holds != nil
}

// joinable is rule 8 for readers: they may join for a while after the tenure was taken. A renewal adds nothing:
// an outside writer must get its turn.
func (g *rwLease) joinable(now Time, cfg *Config) bool {
	return g.phase == ours && !g.write && now < g.joinBy && now < g.Deadline && !g.Doubt && g.Epoch == cfg.Epoch
}

// lasts reports whether the tenure lasts as long as w needs it.
func (g *rwLease) lasts(now Time, w *Waiter) bool {
	if w.Watch {
		return g.Watch && w.Lease <= g.Lease
	}
	return now+w.Lease-margin(w.Lease) <= g.extent
}

func (g *rwLease) covers(w *Waiter, c *Command) bool {
	if g.write {
		return w.Watch == g.Watch && w.Lease == g.Lease
	}
	return w.Lease <= c.Lease
}

// fresh is rule 8, and rules 1 and 20 for w: the tenure may be handed to w without asking Redis.
func (g *rwLease) fresh(now Time, w *Waiter, cfg *Config) bool {
	return g.write && !g.torn && w.Write && w.fits(&g.Tenure) && g.ownership.fresh(now, cfg)
}

// remainingLease is the lease that a renewal asks for: the watchdog's, or what fixed leases have left and a little more, so
// that the deadline that follows from it, a margin earlier, is not before their end.
func (g *rwLease) remainingLease(now Time) time.Duration {
	if g.Watch {
		return g.Lease
	}
	left := max(g.extent-now, 0)
	return (left + margin(left) + margin(left)/50 + 2*time.Millisecond).Truncate(time.Millisecond)
}

// renewAt is when to renew; Never: not by time alone.
func (g *rwLease) renewAt() Time {
	switch {
	case g.phase != ours || g.holds == nil || g.lowering():
		return Never
	case len(g.growing) > 0 && !g.Doubt:
		return 0
	case g.Watch || g.Doubt || len(g.growing) > 0 || g.Deadline < g.extent:
		return g.RenewAt
	default:
		return Never
	}
}

// confirm counts the tenure's lease anew. A longer one than the watchdog's does not last by itself among readers:
// Redisson's renewals of other readers lower the TTL of the lock that they share to that of the watchdog. So it is
// asserted again every third of that, and the deadline is never further away.
func (g *rwLease) confirm(now Time, c *Command, cfg *Config) {
	g.extent = max(g.extent, c.Sent+c.Lease-margin(c.Lease))
	g.ownership.confirm(now, c, g.counted(c.Lease, cfg), cfg.Stats)
	if !g.Watch {
		g.RenewAt = c.Sent + cfg.Lease/3
	}
}

// counted is how much of a lease counts: of a reader's no more than the watchdog's.
func (g *rwLease) counted(lease time.Duration, cfg *Config) time.Duration {
	if g.write {
		return lease
	}
	return min(lease, cfg.Lease)
}

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

// exclude reports whether the name is held in a way that excludes another caller, which may want to write.
func (gs rwLeases) exclude(write bool) bool {
	return slices.ContainsFunc(gs, func(g *rwLease) bool { return g.holds != nil && (write || g.write) })
}

func (gs *rwLeases) remove(g *rwLease) {
	*gs = slices.DeleteFunc(*gs, func(other *rwLease) bool { return other == g })
}
