package gate

import (
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Unlock ends a hold. The end of a writer's last write, while it reads too, waits for the downgrade.
func (r *RW) Unlock(now Time, h *Hold, ack Settler, fx *Effects) {
	r.tick(now)
	g := r.gripOf(h)
	if g == nil {
		settle(ack, Outcome{Why: h.why})
		r.pump(now, fx)
		return
	}
	g.end(h, r.cfg.Stats)
	r.left(h.owner())
	if h.write {
		g.writes--
	}
	switch {
	case g.holds == nil:
		g.owe(ack)
		r.decide(now, g, fx)
		if g.phase != dead { // handed on, or about to be
			g.acknowledge(Outcome{})
		}
	case g.lowering() && h.write:
		g.owe(ack)
	default:
		settle(ack, Outcome{})
	}
	r.pump(now, fx)
}

// owe has ack hear of the next answer about g, besides whom it is owed to already.
func (g *grip) owe(ack Settler) {
	if g.ack != nil && ack != nil {
		ack = both{g.ack, ack}
	}
	if ack != nil {
		g.ack = ack
	}
}

// both is two who wait for the same answer.
type both [2]Settler

func (b both) Settle(out Outcome) bool {
	b[0].Settle(out)
	return b[1].Settle(out)
}

func (g *grip) acknowledge(out Outcome) {
	settle(g.ack, out)
	g.ack = nil
}

// decide says what becomes of a tenure that nobody holds. A writer's goes to the next waiter if that is a writer
// too, at once if it is fresh, or after one script confirmed it; else it is freed.
func (r *RW) decide(now Time, g *grip, fx *Effects) {
	for w := r.queue.head; w != nil && r.fresh(now, g, w); w = r.queue.head {
		r.queue.remove(w)
		if r.grant(now, w, g) {
			r.cfg.Stats.Handoffs.Inc()
			r.readmit(now)
			return
		}
	}
	w := r.queue.head
	switch {
	case w == nil || !g.write || g.torn || !w.Write || !w.fits(&g.Tenure) || r.cfg.HandoffTime <= 0 || !r.keeps(now, r.cfg):
		r.drop(now, g, nil)
	case r.flight == None:
		r.send(Command{Op: ConfirmWrite, ID: g.ID, Lease: g.Lease}, g, fx)
	}
}

// fresh is rule 8, and rules 1 and 20 for w: the tenure may be handed to w without asking Redis.
func (r *RW) fresh(now Time, g *grip, w *Waiter) bool {
	return g.write && !g.torn && w.Write && w.fits(&g.Tenure) && now < g.Deadline && now-g.Confirmed < r.cfg.HandoffTime && !g.Doubt && g.Epoch == r.cfg.Epoch
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (r *RW) tick(now Time) {
	for _, g := range r.grips {
		if g.ack != nil && now >= g.Deadline {
			g.acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
		}
		if g.phase != ours {
			continue
		}
		if now >= g.Deadline {
			r.lose(now, g, Lost)
			continue
		}
		if g.tenancy.expire(now, r.cfg.Stats) {
			r.ended(g)
			if g.holds == nil { // rule 1: ended by its own lease, so released, not left to its TTL
				r.drop(now, g, nil)
			}
		}
	}
}

// lose ends all holds of a tenure and frees it. Their contexts end before the release is sent (rule 3).
func (r *RW) lose(now Time, g *grip, why Why) {
	g.endAll(r.cfg.Stats, why)
	r.ended(g)
	r.drop(now, g, nil)
}

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (r *RW) drop(now Time, g *grip, ack Settler) {
	g.owe(ack)
	g.phase, g.askAt = dead, now
	g.growing.abort(func(w *Waiter) { r.requeue(now, w) })
}

// requeue has a re-entry whose Owner writes no more wait like anybody.
func (r *RW) requeue(now Time, w *Waiter) {
	switch {
	case w.Owner != 0 && r.reenter(now, w): // it still reads
	case w.Try && r.shut(w.Write):
		r.cfg.Answer(w, Outcome{Why: Taken, TTL: r.ttl(now)})
	default:
		r.queue.push(w)
	}
}

// gone is a tenure that is not in Redis any more, as Redis says in answer to c.
func (r *RW) gone(now Time, g *grip, c *Command) {
	g.endAll(r.cfg.Stats, Lost)
	r.ended(g)
	g.acknowledge(Outcome{Why: Lost})
	r.remove(g)
	g.growing.abort(func(w *Waiter) { r.requeue(now, w) })
	r.askAt = now
	r.haunt(g, c.Sent)
}

func (r *RW) remove(g *grip) {
	r.grips = slices.DeleteFunc(r.grips, func(other *grip) bool { return other == g })
}

// free sends the release that is due, and forgets what has run out.
func (r *RW) free(now Time, fx *Effects) bool {
	for _, g := range slices.Clone(r.grips) {
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
func (r *RW) released(now Time, g *grip, c *Command) {
	heard := r.hear(c)
	switch {
	case c.Result == Answered && (c.Reply >= 0 || c.Reply == scripts.Mute):
		g.acknowledge(Outcome{})
		r.remove(g)
		r.haunt(g, c.Sent)
		r.askAt = now
		if r.queue.head != nil {
			r.askAt += r.pause(now, heard, r.cfg)
		}
		r.askAt = max(r.askAt, r.last.recovery(now))
	case c.Result == Answered && c.Reply == scripts.NotMine && g.torn:
		g.torn, g.write, g.askAt = false, false, now // the downgrade ran: it is to be freed as a reader
	case c.Result == Answered && c.Reply == scripts.NotMine:
		out := Outcome{Why: Lost}
		if g.Resent { // rule 4: the first send, before the deadline, did it
			out = Outcome{}
		}
		g.acknowledge(out)
		r.remove(g)
		r.askAt = now
		r.haunt(g, c.Sent)
	default:
		r.unfreed(now, g, c)
	}
}

// unfreed is a release or a downgrade that proved nothing: it is sent again until the lease has surely run out.
// Whoever asks only once does not wait for that.
func (r *RW) unfreed(now Time, g *grip, c *Command) {
	fault := c.Reply.Fault()
	out := Outcome{Why: Refused, Fault: fault, Words: c.Words}
	g.askAt = now + retryPause
	switch {
	case c.Result == Unknown:
		g.Resent = g.Resent || c.Sent < g.Deadline
		r.cfg.Stats.Uncertain.Inc()
		out = Outcome{Why: Down}
	case c.Result == NotSent:
		g.askAt = now + time.Second // LinkUp comes earlier
		out = Outcome{Why: Down}
	case c.Result == Denied || c.Result == Answered && !fault.Passing():
		g.acknowledge(out)
		g.askAt = now + time.Second
	}
	r.queue.turnAway(r.cfg, out, triesOnce)
}

// lowered is the answer to a downgrade: the writer is a reader now, beside whom others may read. It may have ended
// altogether meanwhile; then it is released as what it is.
func (r *RW) lowered(now Time, g *grip, c *Command) {
	heard := r.hear(c)
	switch {
	case c.ran() && (c.Reply >= 0 || c.Reply == scripts.Mute):
		g.write, g.torn = false, false
		if g.phase != ours {
			return
		}
		g.acknowledge(Outcome{})
		if c.Result == Alone {
			r.loneReader(now, g, c)
			return
		}
		g.Deadline = 0 // a reader's may be nearer
		r.confirm(now, g, c)
		g.follow()
		r.outside, g.joinBy = max(heard, 0), c.Sent+r.cfg.HandoffTime
		r.enter(now)
	case c.Result == Answered && c.Reply == scripts.NotMine && g.phase == ours:
		r.gone(now, g, c)
	case g.phase == ours:
		g.Doubt = true
		r.unfreed(now, g, c)
	}
}

// haunt remembers a tenure's id if an acquire of it may have arrived after a command, sent then, that found it gone
// or freed it: it is released once more when none can (rule 12).
func (r *RW) haunt(g *grip, sent Time) {
	if g.Unsure > sent {
		r.ghosts.add(ghost{id: g.ID, op: releaseOf(g.writer), at: g.Unsure, ends: g.Ends})
	}
}

// exorcise sends the release of a ghost that is due.
func (r *RW) exorcise(now Time, fx *Effects) bool {
	g, due := r.ghosts.due(now)
	if due {
		r.send(Command{Op: g.op, ID: g.id, Owner: g.owner}, nil, fx)
		r.again = r.queue.head != nil
	}
	return due
}

// WriterSuffix ends the owner field of a writer, as in Redisson.
const WriterSuffix = ":write"

// Force frees an owner. When that is a tenure of ours, its holds end first; when it is one that was granted in
// Redis but not here yet, it is never handed out.
func (r *RW) Force(now Time, owner string, id uint64, ack Settler, fx *Effects) {
	r.tick(now)
	write := strings.HasSuffix(owner, WriterSuffix)
	i := slices.IndexFunc(r.grips, func(g *grip) bool { return id != 0 && g.ID == id && g.phase == ours && g.write == write })
	if i >= 0 {
		g := r.grips[i]
		g.endAll(r.cfg.Stats, Lost)
		r.ended(g)
		r.drop(now, g, ack)
	} else {
		r.ghosts.add(ghost{owner: owner, id: id, op: releaseOf(write), at: now, ack: ack})
	}
	r.pump(now, fx)
}

// Drain turns everybody away who waits; holds go on, and can be extended.
func (r *RW) Drain(now Time, fx *Effects) {
	r.queue.turnAway(r.cfg, Outcome{Why: Closed}, everyone)
	for _, g := range r.grips {
		g.growing.turnAway(r.cfg, Outcome{Why: Closed}, everyone)
	}
	r.pump(now, fx)
}

// Close turns everybody away, ends all holds and frees everything.
func (r *RW) Close(now Time, fx *Effects) {
	r.Drain(now, fx)
	r.listener.close()
	for _, g := range r.grips {
		if g.phase == ours {
			r.lose(now, g, Closed)
		}
	}
	r.pump(now, fx)
}
