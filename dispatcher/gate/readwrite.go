package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// readWrite is what a read-write lock has and a mutex has not.
//
// The readers of this process share a lease: a reader that comes while the lease is fresh costs no command. Later readers ask whether the lease
// stands. That question also counts the writers in line and the other listeners. While this process reads, only writers have a reason to
// listen, so the readers let them come first: they wait until the reads that run have ended. So that these end in all processes at once, Redis
// counts listeners as a writer in line at the same times for all (makesWay in scripts/line.lua). A writer has a lease alone. It is handed on from
// writer to writer. Reads of the writer's own Owner live under it; when the last write ends, a downgrade makes it a lease of readers.
//
// Requests of this process are granted in the order of arrival. Readers that follow each other are granted together. A reader that comes
// while a writer waits, waits behind the writer. Only the call of an Owner with a living hold is granted at once.
type readWrite struct {
	owners   rwOwners
	askTries retries // failures in a row of questions for the head of the queue
}

// WriterSuffix ends the owner field of a writer, as in Redisson.
const WriterSuffix = ":write"

// newRW makes the machine of a read-write lock: a Lock with a contest of its own, in one piece of memory.
func newRW() Machine {
	all := &struct {
		Lock
		own contest
		rivals
		readWrite
	}{}
	all.contest, all.own.rivals, all.own.rw = &all.own, &all.rivals, &all.readWrite
	return &all.Lock
}

// askToJoin asks whether the readers' lease stands, and sets the TTL that the readers at the head of the queue need.
func (l *Lock) askToJoin(now Time, fx *Effects) {
	g := &l.lease
	l.cfg.Stats.Attempts.Inc()
	l.send(l.ops(false).confirm, g.ID, max(l.contest.queue.longest(), l.keepLease(now, g)), fx)
}

// confirmedForReaders handles the answer that the lease stands. Readers join it unless a writer stands in line or others listen, which may be
// writers: these get in only when all reads that run have ended. Who listens need not wait, and a hold may last for hours, so the readers make
// way for a while only. An Owner that reads already makes way for nobody: it would wait for itself.
func (l *Lock) confirmedForReaders(now Time, g *Lease, c *Command, fx *Effects) {
	t, reenters := &l.contest.rivals.turns, false
	if w := l.contest.queue.head; w != nil {
		reenters, _ = l.holdsOf(w.Owner)
	}
	if !reenters && (t.standing || t.listen > 0 && (now < t.until || t.over(now, g.ID))) { // no place of ours stands, so nobody tells us
		l.refused(now, c, g.Deadline-now, fx)
		if now >= t.until {
			t.until, t.began = now+pollWindow, 0
		}
		l.contest.askAt = min(l.contest.askAt, t.until)
		return
	}
	l.contest.rw.askTries = 0
	g.Confirmed = c.Sent
	t.begin(now)
	l.admit(now, g, c)
}

// longest is the lease for the readers at the head of the queue: the watchdog's, or the longest of the fixed leases of the first mostServed. A
// reader for which that is not enough is asked for by the next question.
func (q *Queue) longest() time.Duration {
	head := q.head
	lease := head.LeaseTime
	for w, n := head.next, 1; w != nil && n < mostServed && !w.Write && !head.Watch; w, n = w.next, n+1 {
		if !w.Watch {
			lease = max(lease, w.LeaseTime)
		}
	}
	return lease
}

// reads reports whether readers of this process have the name.
func (l *Lock) reads() bool { return l.lease.phase == ours && !l.lease.write }

// join grants a reader, which may wait, the readers' lease, without asking Redis: for a while after a confirmation (invariant:
// handoff-only-while-fresh). False: Redis must be asked.
func (l *Lock) join(now Time, w *Waiter) bool {
	g := &l.lease
	if !l.reads() || !g.fresh(now, l.cfg) || !g.lasts(now, w) {
		return false
	}
	l.contest.queue.remove(w)
	w.Way = HandedOn
	if l.grant(now, w, g) {
		l.cfg.Stats.Handoffs.Inc()
	}
	return true
}

// admitJoinable grants the readers at the head of the queue that may join, after the writer before them has gone.
func (l *Lock) admitJoinable(now Time) {
	for w := l.contest.queue.head; w != nil && !w.Write && l.join(now, w); w = l.contest.queue.head {
	}
}

// downgraded handles the answer to a downgrade: the writer is a reader now, and others may read beside it. If its last hold has ended
// meanwhile, it is released as a reader's.
func (l *Lock) downgraded(now Time, g *Lease, c *Command) {
	switch {
	case c.ran() && freed(c.Reply):
		g.write, g.torn = false, false
		l.trackOrphan(g, c.Sent) // the writer
		if g.phase != ours {
			return
		}
		l.contest.acks.settle(Outcome{})
		if c.Result == UnderReplicated {
			// Replicas that lack the downgrade let the keys run out when they would have without it.
			g.Deadline = min(g.Deadline, c.Sent+c.LeaseTime-margin(c.LeaseTime))
			g.follow()
			l.unrenewed(now, g, c)
			return
		}
		g.Deadline = 0 // a reader's deadline may be nearer
		g.confirm(now, c, l.cfg)
		g.Confirmed = c.Sent
		l.admitJoinable(now)
	case g.phase != ours:
	case c.Result == Answered && c.Reply == scripts.NotMine:
		l.vanished(now, g, c)
	default:
		g.Doubt = true
		l.unreleased(now, g, c)
		g.warnOverdue(now, c, l.cfg.Stats)
	}
}

// ownerHolds counts the living holds of one Owner.
type ownerHolds struct{ reads, writes holdCount }

func (o *ownerHolds) of(write bool) *holdCount {
	if write {
		return &o.writes
	}
	return &o.reads
}

// rwOwners are the Owners with living holds.
type rwOwners map[uint64]*ownerHolds

// holdCount is the count for the next hold of an Owner.
func (rs *rwOwners) holdCount(owner uint64, write bool) *holdCount {
	if owner == 0 {
		return nil
	}
	p := (*rs)[owner]
	if p == nil {
		p = &ownerHolds{reads: holdCount{owner: owner}, writes: holdCount{owner: owner}}
		if *rs == nil {
			*rs = make(rwOwners)
		}
		(*rs)[owner] = p
	}
	return p.of(write)
}

// forgetIdle forgets an Owner, if it has no hold any more.
func (rs rwOwners) forgetIdle(owner uint64) {
	if p := rs[owner]; p != nil && p.reads.count() == 0 && p.writes.count() == 0 {
		delete(rs, owner)
	}
}
