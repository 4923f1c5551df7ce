package gate

import (
	"slices"
	"strings"
	"time"
)

// rwHolds are the holds of a read-write lock here, and their tenures: it decides which callers come in beside which, and what ends.
// RW decides how Redis is asked, and which waiter is next.
type rwHolds struct {
	lock
	own    ample
	owners rwOwners
	leases rwLeases
}

// shut reports whether a TryLock has no chance, by what lives and waits here.
func (r *rwHolds) shut(write bool) bool {
	return write && r.queue.lasting() > 0 || !write && r.queue.writers > 0 || r.leases.exclude(write)
}

// ttl is what the local holds' lease has left, or what was last heard of others'.
func (r *rwHolds) ttl(now Time) time.Duration {
	at, held := Time(0), false
	for _, g := range r.leases {
		if g.phase == ours {
			at, held = max(at, g.Deadline), true
		}
	}
	if !held {
		at = r.contention.theirs.ends
	}
	return timeLeft(now, at)
}

// Oldest is when the oldest living hold was granted.
func (r *rwHolds) Oldest() Time {
	oldest := Never
	for _, g := range r.leases {
		oldest = min(oldest, g.oldest())
	}
	return oldest
}

// lastOutcome is what is known of the name, as the answer to a waiter that gives up.
func (r *rwHolds) lastOutcome(now Time) Outcome {
	if r.Oldest() != Never {
		return Outcome{Last: Taken, TTL: r.ttl(now)}
	}
	return r.waiting.lastOutcome(now)
}

// forget takes a waiter out. False: it does not wait.
func (r *rwHolds) forget(w *Waiter) bool {
	waited := r.waiting.forget(w)
	for _, g := range r.leases {
		waited = g.growing.forget(w) || waited
	}
	return waited
}

func (r *rwHolds) turnAllAway() {
	r.waiting.turnAllAway()
	for _, g := range r.leases {
		g.growing.turnAway(r.cfg, Outcome{Why: Closed}, everyone)
	}
}

// ended counts again after holds of g have ended by time or loss.
func (r *rwHolds) ended(g *rwLease) {
	for owner := range r.owners {
		r.owners.left(owner)
	}
	g.writes = 0
	for h := g.holds; h != nil && g.write; h = h.next {
		if h.write {
			g.writes++
		}
	}
}

// tick ends what time has ended. Every event that may grant something calls it first.
func (r *rwHolds) tick(now Time) {
	for _, g := range r.leases {
		if g.ack != nil && now >= g.Deadline {
			g.acknowledge(Outcome{Why: Doubtful}) // Unlock never blocks past the deadline
		}
		if !g.isDue(now) {
			continue
		}
		ended, over := g.expired(now, r.cfg.Stats)
		if ended {
			r.ended(g)
		}
		if over {
			r.drop(now, g, nil)
		}
	}
}

// lose ends all holds of a tenure and frees it. Their contexts end before the release is sent (rule 3).
func (r *rwHolds) lose(now Time, g *rwLease, why Why, ack Settler) {
	g.endAll(r.cfg.Stats, why)
	r.ended(g)
	r.drop(now, g, ack)
}

// drop frees a tenure of which no hold is left. ack waits for the answer.
func (r *rwHolds) drop(now Time, g *rwLease, ack Settler) {
	g.owe(ack)
	g.phase, g.askAt = dead, now
	g.growing.abort(func(w *Waiter) { r.requeue(now, w) })
}

// gone is a tenure that is not in Redis any more, as Redis says in answer to c.
func (r *rwHolds) gone(now Time, g *rwLease, c *Command) {
	g.endAll(r.cfg.Stats, Lost)
	r.ended(g)
	g.acknowledge(Outcome{Why: Lost})
	r.leases.remove(g)
	g.growing.abort(func(w *Waiter) { r.requeue(now, w) })
	r.askAt = now
	r.orphaned(&g.ownership, c.Sent, releaseOf(g.writer))
}

// requeue has a re-entry wait like any caller: its Owner writes no more.
func (r *rwHolds) requeue(now Time, w *Waiter) {
	switch {
	case w.Owner != 0 && r.reenter(now, w): // it still reads
	case w.Try && r.shut(w.Write):
		r.cfg.Answer(w, Outcome{Why: Taken, TTL: r.ttl(now)})
	default:
		r.queue.push(w)
	}
}

// expel frees the tenure that is that owner's, if there is one.
func (r *rwHolds) expel(now Time, owner string, id uint64, ack Settler) (release Op, done bool) {
	write := strings.HasSuffix(owner, WriterSuffix)
	i := slices.IndexFunc(r.leases, func(g *rwLease) bool { return id != 0 && g.ID == id && g.phase == ours && g.write == write })
	if i < 0 {
		return releaseOf(write), false
	}
	r.lose(now, r.leases[i], Lost, ack)
	return None, true
}

// endHolds ends all holds and frees their tenures.
func (r *rwHolds) endHolds(now Time, why Why) {
	for _, g := range r.leases {
		if g.phase == ours {
			r.lose(now, g, why, nil)
		}
	}
}

// ownerHolds is the living holds of one Owner.
type ownerHolds struct{ reads, writes holdCount }

func (p *ownerHolds) of(write bool) *holdCount {
	if write {
		return &p.writes
	}
	return &p.reads
}

// rwOwners are the Owners with living holds.
type rwOwners map[uint64]*ownerHolds

// holdCount is that of an Owner's next hold.
func (all *rwOwners) holdCount(owner uint64, write bool) *holdCount {
	if owner == 0 {
		return nil
	}
	p := (*all)[owner]
	if p == nil {
		p = &ownerHolds{reads: holdCount{owner: owner}, writes: holdCount{owner: owner}}
		if *all == nil {
			*all = make(rwOwners)
		}
		(*all)[owner] = p
	}
	return p.of(write)
}

// left forgets an Owner that holds nothing any more.
func (all rwOwners) left(owner uint64) {
	if p := all[owner]; p != nil && p.reads.count() == 0 && p.writes.count() == 0 {
		delete(all, owner)
	}
}
