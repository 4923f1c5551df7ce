package gate

import "time"

// Lock is the machine of a mutex, which one owner has at a time, and of a read-write lock, which one writer has or many readers. A caller
// of a mutex is a writer: it excludes all others.
//
// Its events are in lockevents.go. Each event ends with advance (advance.go), which sends the next command that is due: an acquire for the
// waiters (asking.go), a renewal or a release (keeping.go). granting.go grants a lease to waiters, keeping.go also passes one without holds
// to the next waiter, readwrite.go has what only readers need. A fair lock leaves the order to a queue in Redis (fair.go).
type Lock struct {
	Entry
	cfg     *Config  // shared by all names
	contest *contest // the waiters, and what is known of rivals; noContest: there are none
	lease   Lease    // what this process has in Redis, or may have
}

func newLock() Machine { return &Lock{contest: &noContest} }

// reset makes l as new. A read-write lock keeps its contest, which is one piece of memory with it.
func (l *Lock) reset(cfg *Config) {
	own := l.contest
	*l = Lock{Entry: l.Entry, cfg: cfg, contest: &noContest}
	switch l.Kind {
	case RWKind:
		*own.rw = readWrite{}
		own.reset(own.rivals)
		l.contest = own
	case FairKind:
		l.ownContest().queue.fair = &fairQueue{}
	}
}

// traits are what the kind of a lock decides.
type traits struct {
	write, read ops  // the operations of a writer's lease, and of a reader's
	fenced      bool // grants have fencing tokens
	polls       bool // others poll: nothing is published for them, and nobody listens
}

// ops are the operations about one lease; InLine: it gets a place in line if it is refused; FromLine: it gives up its place besides.
type ops struct{ acquire, acquireInLine, renew, confirm, release, releaseFromLine, detach, adopt Op }

// releaseOp is the operation that releases an owner. inLine: it may have a place in line, or get one.
func (o *ops) releaseOp(inLine bool) Op {
	if inLine {
		return o.releaseFromLine
	}
	return o.release
}

// ops are the operations of a writer's lease, as every lease of a mutex is, or of a reader's.
func (l *Lock) ops(write bool) *ops {
	if write {
		return &l.traits().write
	}
	return &l.traits().read
}

var traitsByKind = [...]traits{
	MutexKind:  {write: ops{Acquire, AcquireInLine, Renew, Confirm, Release, ReleaseFromLine, Detach, Adopt}},
	FencedKind: {write: ops{AcquireFenced, AcquireInLine, Renew, Confirm, Release, ReleaseFromLine, Detach, Adopt}, fenced: true},
	SpinKind:   {write: ops{acquire: Acquire, renew: Renew, confirm: Confirm, release: ReleaseQuietly, detach: Detach, adopt: Adopt}, polls: true},
	FairKind:   {write: ops{renew: Renew, release: FairRelease, detach: Detach, adopt: Adopt}}, // FairAsk acquires; the queue confirms
	RWKind: {
		write: ops{acquire: AcquireWrite, acquireInLine: AcquireWriteInLine, renew: RenewWrite, confirm: ConfirmWrite, release: ReleaseWrite, releaseFromLine: ReleaseWriteFromLine},
		read:  ops{acquire: AcquireRead, acquireInLine: AcquireRead, renew: RenewRead, confirm: ConfirmRead, release: ReleaseRead, releaseFromLine: ReleaseReadFromLine},
	},
	SimpleKind: {
		write: ops{AcquireSimple, AcquireSimpleInLine, RenewSimple, ConfirmSimple, ReleaseSimple, ReleaseSimpleFromLine, DetachSimple, AdoptSimple},
		polls: true,
	},
}

func (e *Entry) traits() *traits { return &traitsByKind[e.Kind] }

// ownContest returns the contest of l, to be written to. It takes one if there was none.
func (l *Lock) ownContest() *contest {
	if l.contest == &noContest {
		l.contest = l.cfg.takeContest()
	}
	return l.contest
}

// ownRivals returns the rivals of l, to be written to. It makes them if there were none.
func (l *Lock) ownRivals() *rivals { return l.ownContest().ownRivals() }

// putIdleContest gives the contest back to its pool when nothing is left in it.
func (l *Lock) putIdleContest() {
	c := l.contest
	if c.queue.head == nil && c.acks.ack == nil && c.rivals == &noRivals && c.queue.fair == nil && l.lease.phase != asked && c != &noContest {
		l.contest = &noContest
		l.cfg.putContest(c)
	}
}

// leaseOf is the lease with this owner number; nil: there is none any more.
func (l *Lock) leaseOf(id uint64) *Lease {
	if g := &l.lease; g.phase != free && g.ID == id {
		return g
	}
	return nil
}

// addAck registers ack, if it is not nil, for the release of the lease.
func (l *Lock) addAck(ack Settler) {
	if ack != nil {
		l.ownContest().acks.add(ack)
	}
}

// askTries counts the failures in a row of questions for waiters. A mutex has one count for all its commands.
func (l *Lock) askTries() *retries {
	if rw := l.contest.rw; rw != nil {
		return &rw.askTries
	}
	return &l.tries
}

// ttl is how long the name is taken: by this process, or by another owner as Redis said last.
func (l *Lock) ttl(now Time) time.Duration {
	if l.lease.phase == ours {
		return timeLeft(now, l.lease.Deadline)
	}
	return timeLeft(now, l.contest.rivals.theirs.ends)
}

// lastOutcome is the last answer about the name, for a waiter that gives up.
func (l *Lock) lastOutcome(now Time) Outcome {
	if l.held() {
		return Outcome{Last: Taken, TTL: l.ttl(now)}
	}
	return l.contest.lastOutcome(now)
}

// held reports whether callers of this process hold the name.
func (l *Lock) held() bool { return l.lease.holds.first != nil }

// owners are those with living holds of a read-write lock; nil: it is none.
func (l *Lock) owners() rwOwners {
	if rw := l.contest.rw; rw != nil {
		return rw.owners
	}
	return nil
}

// Oldest is when the oldest living hold was granted.
func (l *Lock) Oldest() Time { return l.lease.oldest() }

// Waiting is how many callers wait for the name.
func (l *Lock) Waiting() int { return int(l.contest.queue.n) }

// send adds the command of the name to fx. Its caller may fill in more of it, at once.
func (l *Lock) send(op Op, id uint64, lease time.Duration, fx *Effects) *Command {
	c := fx.add(op)
	c.Entry, c.Op, c.ID, c.LeaseTime, c.Epoch = &l.Entry, op, id, lease, l.cfg.Epoch
	l.flight = op
	return c
}

// returned records that the command in flight has come back. orphan: it was the release of one.
func (l *Lock) returned(c *Command) (orphan bool) {
	l.flight = None
	if c.Result == Unknown {
		l.cfg.Stats.Uncertain.Inc()
	}
	r := l.contest.rivals
	if orphan = r.releasing; orphan {
		r.releasing = false
	}
	return orphan
}

// releaseArgs are the arguments of a release: of this owner field, or of the owner number if it is empty.
func (l *Lock) releaseArgs(now Time, inLine bool, id uint64, owner string) Args {
	a := ReleaseArgs{Owner: owner}
	if inLine {
		a.Code = l.cfg.Codes.Code(id)
	}
	if l.Kind == SimpleKind {
		a.Turn = l.contest.rivals.turns.length(now, id)
	}
	return a.Args()
}

// trackOrphan has the owner id of g released once more if an acquire of it may arrive after a command that was sent then; see Lease.orphan.
func (l *Lock) trackOrphan(g *Lease, sent Time) {
	if g.Unsure > sent {
		l.ownRivals().orphans.add(g.orphan(l.ops(g.writer).releaseOp(g.mayBeInLine())))
	}
	g.Unsure = 0
}
