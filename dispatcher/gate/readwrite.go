package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// readWrite is what a read-write lock has besides.
//
// Readers of this process share a tenure: a reader that comes while it is joinable costs no command. When that time is over later readers
// ask under a second tenure, and when there are two, for the newer one again. Such a question finds out which others listen: while this
// process reads, nobody but a writer has reason to wait, so that the readers let it come first and wait until what runs has ended. A
// writer has a tenure alone; it is handed on from writer to writer, and reads of its own Owner live under it, to become an ordinary read
// tenure when the last write ends, by a downgrade.
//
// Here, requests are served in the order of arrival. Readers that follow each other enter together. A reader that comes while a writer
// waits, waits behind it; only a caller that reads or writes already, by its Owner, is let in at once.
type readWrite struct {
	contest  contest
	rivals   rivals
	second   Lease      // besides that of the Lock
	acks     pendingAck // of its release
	owners   rwOwners
	askTries retries // for the head of the queue, in vain

	yieldsToWriters bool // the command in flight, asking for readers, is for nothing if others listen
}

// WriterSuffix ends the owner field of a writer, as in Redisson.
const WriterSuffix = ":write"

func newRW() Machine {
	all := &struct {
		Lock
		own readWrite
	}{}
	all.own.contest.rw = &all.own
	all.Lock.contest = &all.own.contest
	return &all.Lock
}

func (r *readWrite) reset(cfg *Config) {
	*r = readWrite{contest: contest{rw: r}}
	r.contest.begin(cfg, &r.rivals)
}

// first is the older of two leases, one of them rw's second; nil: both are gone.
func (r *readWrite) first(one *Lease) *Lease {
	other := &r.second
	switch {
	case one.phase == free && other.phase == free:
		return nil
	case one.phase == free || other.phase != free && other.ID < one.ID:
		return other
	}
	return one
}

// after is the other of two leases, if it is younger than g.
func (r *readWrite) after(g, one *Lease) *Lease {
	other := &r.second
	if g == other {
		other = one
	}
	if other.phase == free || other.ID <= g.ID {
		return nil
	}
	return other
}

// vacant is where a new lease for w goes; nil: readers have two.
func (r *readWrite) vacant(l *Lock, now Time, w *Waiter) *Lease {
	r.yieldsToWriters = l.first() != nil && l.mayYield(now, w)
	switch free {
	case l.lease.phase:
		return &l.lease
	case r.second.phase:
		return &r.second
	}
	return nil
}

// askToJoin asks whether the newer of two leases stands, and for as long as the readers at the head of the queue need.
func (l *Lock) askToJoin(now Time, fx *Effects) {
	g := &l.lease
	if second := &l.contest.rw.second; second.ID > g.ID {
		g = second
	}
	l.cfg.Stats.Attempts.Inc()
	l.send(ConfirmRead, g.ID, max(l.need(), l.keepLease(now, g)), fx)
}

// confirmedForReaders is the answer to that.
func (l *Lock) confirmedForReaders(now Time, g *Lease, c *Command, fx *Effects) {
	rw := l.contest.rw
	if rw.yieldsToWriters && l.contest.rivals.outside > 0 {
		l.refused(now, c.Sent, g.Deadline-now, g.ID, fx)
		return
	}
	rw.askTries = 0
	g.Confirmed = c.Sent
	l.admit(now, g, c)
}

// need is the lease for the readers at the head of the queue: the watchdog's, or the longest of fixed ones.
func (l *Lock) need() time.Duration {
	head := l.contest.queue.head
	lease := head.Lease
	for w := head.next; w != nil && !w.Write && !head.Watch; w = w.next {
		if !w.Watch {
			lease = max(lease, w.Lease)
		}
	}
	return lease
}

// reads reports whether readers of ours have the name.
func (l *Lock) reads() bool { return l.any(func(g *Lease) bool { return g.phase == ours && !g.write }) }

// joinable is rule 8 for readers: they may join for a while after the lease was taken.
func (l *Lease) joinable(now Time, cfg *Config) bool {
	return l.phase == ours && !l.write && l.fresh(now, cfg)
}

// join lets a reader in beside those that read already, without asking Redis. True: w is settled.
func (l *Lock) join(now Time, w *Waiter) bool {
	for g := l.first(); g != nil; g = l.after(g) {
		if g.joinable(now, l.cfg) && g.lasts(now, w) {
			w.HandedOn = true
			if l.admitOne(now, w, g) {
				l.cfg.Stats.Handoffs.Inc()
			}
			return true
		}
	}
	return false
}

// admitJoinable lets in the readers at the head of the queue that may join: a writer before them has gone.
func (l *Lock) admitJoinable(now Time) {
	q := &l.contest.queue
	for w := q.head; w != nil && !w.Write; w = q.head {
		q.remove(w)
		if !l.join(now, w) {
			q.pushFront(w)
			break
		}
	}
	if l.contest.rw != nil {
		l.admitReentries(now)
	}
}

// downgraded is the answer to a downgrade: the writer is a reader now, and others may read beside it. It may have ended altogether
// meanwhile; then it is released as what it is.
func (l *Lock) downgraded(now Time, g *Lease, c *Command) {
	l.listeners(c)
	switch {
	case c.ran() && freed(c.Reply):
		g.write, g.torn = false, false
		if g.phase != ours {
			return
		}
		l.acks(g).settle(Outcome{})
		if c.Result == UnderReplicated {
			// Where the downgrade is not known, the keys run out when they would have.
			g.Deadline = min(g.Deadline, c.Sent+c.Lease-margin(c.Lease))
			g.follow()
			l.unrenewed(now, g, c)
			return
		}
		g.Deadline = 0 // a reader's may be nearer
		g.confirm(now, c, l.cfg)
		g.follow()
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

// mayYield reports whether readers let outside writers come first: not an Owner that reads already, which would wait
// for itself, and not after nobody took what we left to others.
func (l *Lock) mayYield(now Time, w *Waiter) bool {
	in, _ := l.holdsOf(w.Owner)
	return now >= l.contest.rivals.yieldFree && (w.Owner == 0 || !in)
}

// pauseForWriters bounds how long readers wait, beside our own that read, for others that listen: these may wait to write,
// or only listen, and a hold may last for hours. It is a yield of the longest kind, for a writer gets in only when all
// reads that run have ended; it was in vain when we read still. After yieldsInVain of them readers rest from waiting.
func (l *Lock) pauseForWriters(now Time) {
	switch r := l.contest.rivals; {
	case l.contest.queue.head == nil || !l.reads():
	case now < r.yieldFree:
		l.contest.askAt = now
	default:
		r.yield = longestYield
		l.contest.askAt = min(l.contest.askAt, now+longestYield)
	}
}

// ownerHolds is the living holds of one Owner.
type ownerHolds struct{ reads, writes holdCount }

func (o *ownerHolds) of(write bool) *holdCount {
	if write {
		return &o.writes
	}
	return &o.reads
}

// rwOwners are the Owners with living holds.
type rwOwners map[uint64]*ownerHolds

// holdCount is that of an Owner's next hold.
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

// forgetIdle forgets an Owner that holds nothing any more.
func (rs rwOwners) forgetIdle(owner uint64) {
	if p := rs[owner]; p != nil && p.reads.count() == 0 && p.writes.count() == 0 {
		delete(rs, owner)
	}
}

// forgetAllIdle forgets all Owners that hold nothing any more.
func (rs rwOwners) forgetAllIdle() {
	for owner := range rs {
		rs.forgetIdle(owner)
	}
}
