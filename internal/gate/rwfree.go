package gate

import (
	"slices"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// free sends the release that is due, and forgets what has run out.
func (r *RW) free(now Time, fx *Effects) bool {
	for _, g := range slices.Clone(r.leases) {
		if g.phase != dead || now < g.askAt {
			continue
		}
		if now >= g.Ends { // no command can reach it, and its lease has surely run out in Redis
			g.acknowledge(Outcome{Why: Doubtful})
			r.remove(g)
			r.askAt = now
			continue
		}
		r.send(Command{Op: releaseOf(g.write), ID: g.ID}, g, fx)
		return true
	}
	return false
}

func releaseOf(write bool) Op {
	if write {
		return ReleaseWrite
	}
	return ReleaseRead
}

// released is the answer to the release of a tenure.
func (r *RW) released(now Time, g *rwLease, c *Command) {
	heard := r.heardBy(c)
	if c.Result == Answered && c.Reply == scripts.NotMine && g.torn {
		g.torn, g.write, g.askAt = false, false, now // the downgrade ran: it is to be freed as a reader
		return
	}
	out, pause, gone := g.released(now, c, &r.tries)
	if !gone {
		r.unreleased(now, g, c, out, pause)
		return
	}
	g.acknowledge(out)
	r.remove(g)
	r.orphaned(&g.ownership, c.Sent, releaseOf(g.writer))
	r.askAt = now
	if c.Reply != scripts.NotMine && r.queue.head != nil {
		r.askAt += r.contention.yielding.pause(now, heard, r.cfg)
	}
}

// unreleased is a release or a downgrade that proved nothing: it is sent again until the lease has surely run out.
// Whoever asks only once does not wait for that.
func (r *RW) unreleased(now Time, g *rwLease, c *Command, out Outcome, pause time.Duration) {
	g.askAt = now + pause
	if out.final() {
		g.acknowledge(out)
	}
	r.waiting.unreleased(c, out)
}

// lowered is the answer to a downgrade: the writer is a reader now, beside whom others may read. It may have ended
// altogether meanwhile; then it is released as what it is.
func (r *RW) lowered(now Time, g *rwLease, c *Command) {
	heard := r.heardBy(c)
	switch {
	case c.ran() && (c.Reply >= 0 || c.Reply == scripts.PublishDenied):
		g.write, g.torn = false, false
		if g.phase != ours {
			return
		}
		g.acknowledge(Outcome{})
		if c.Result == UnderReplicated {
			r.underReplicatedReader(now, g, c)
			return
		}
		g.Deadline = 0 // a reader's may be nearer
		r.confirm(now, g, c)
		g.follow()
		r.contention.outside, g.joinBy = max(heard, 0), c.Sent+r.cfg.HandoffTime
		r.enter(now)
	case c.Result == Answered && c.Reply == scripts.NotMine && g.phase == ours:
		r.gone(now, g, c)
	case g.phase == ours:
		g.Doubt = true
		out, pause := g.ownership.unreleased(c, &r.tries)
		r.unreleased(now, g, c, out, pause)
	}
}

// releaseOrphan sends the release of an orphan that is due.
func (r *RW) releaseOrphan(now Time, fx *Effects) bool {
	c, due := r.dueOrphan(now)
	if due {
		r.send(c, nil, fx)
		r.again = r.queue.head != nil
	}
	return due
}

// WriterSuffix ends the owner field of a writer, as in Redisson.
const WriterSuffix = ":write"

func (r *RW) remove(g *rwLease) {
	r.leases = slices.DeleteFunc(r.leases, func(other *rwLease) bool { return other == g })
}
