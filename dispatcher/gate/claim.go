package gate

import (
	"slices"
	"time"
)

// A claim lets a release give a mutex to an engine that waits for it, so that a hand-over between two processes takes a release and
// a message, and not a question and its answer besides:
//
//  1. Engine B listens to the name's channel and asks for the name under a fresh owner id, by an AcquireClaim. The mutex is taken.
//     The script leaves B's claim in a hash beside the lock: the owner id, a code, and until when it stands, claimTime from now.
//  2. Engine A releases the mutex by a ReleaseClaim. If the oldest claim is good for another second, the script gives the mutex to
//     its owner id, until the claim ends, removes the claim and publishes its code on the name's channel in place of the 0.
//  3. B hears its code. From then on it has the mutex as if the AcquireClaim that was refused had been granted with a lease of
//     claimTime: its deadline counts from when that was sent, less a margin. Soon its renewal makes that the whole lease.
//
// So no clock is compared with another. Redis ran B's AcquireClaim after it had left, and let the claim and then the key stand for
// claimTime from there. A later AcquireClaim under the same owner id lets both stand longer; if Redis refuses that, its reply says
// so, and B counts from the one before.
//
// Each AcquireClaim has a code of its own, which is known to B, to Redis, and to who listens once it is used. A message without the
// code of B's last answered one is a hint, as any other. Were the code that of the owner id, a message could be taken for another claim:
//
//  1. The mutex is given to B. The message stays on its way; B's two seconds run out, and somebody else takes the mutex.
//  2. B asks under the same owner id, and has a claim again. Then the message arrives.
//
// A fenced mutex needs tokens, which no message may bring. So B asks at once when it hears its code, under the same owner id, and the
// answer brings them. A code counts once: what is said after it, or beside it, is a hint.
//
// A fair mutex is given to the head of its queue and to nobody else, by its release, if the head's claim is good for another second. The
// owner id is the head's place, the claim is left by a FairAsk, and the code is published on the head's own channel in place of the 0. The
// order stays the queue's: no claim brings a place forward, Redisson's heads are woken as ever, and a place that is given up takes its
// claim along. The next waiter of the process that releases goes before, when it is its turn, as without claims. If nobody hears the
// code, the mutex is free, and the head stands where it stood.
//
// What may happen besides:
//
//   - The message is lost, comes late, or finds another command of the name on its way: B asks under the same owner id, and the
//     script finds that this owner has the lock. Whoever else listens heard the code as a hint, was told the TTL, and asks when
//     the claim has run out.
//   - B has died, or stands still: the mutex is free when the claim ends, 2 s at most after B's question. Nobody else is in the
//     queue behind B: claims are an order, not a right, and a TryLock or a Lock that comes when the mutex is free gets it.
//   - Nobody waits in B any more: it sends the ReleaseClaim of the owner id, which removes the claim, or gives the mutex to the next.
//   - A's release gets no answer and is sent again: the owner is not there, so nothing is given a second time.
//   - An AcquireClaim gets no answer, or a copy of it comes late: the owner id may get the mutex until claimTime after that. It is
//     an orphan as that of any acquire without an answer, and its release removes its claim.
//   - The key is deleted, or a replica takes over that lacks the last changes: as with any tenure.
//   - Somebody listens who has no claim: it may be a waiter of Redisson, and the release frees the mutex and publishes 0. Whoever
//     polls leaves no trace, so that one release in 100 ms does the same.
//   - B has died, and a waiter of Redisson listens in its place. The mutex is given to B, and a 1 is published besides, which
//     has Redisson's waiters ask: that one learns that it has to wait for 2 s at most. No engine heeds it.
//   - The hash slot is on its way, and the claims are at another node than the lock: the mutex is taken or released as if there were
//     none (Unclaimed). If B had it so and has left it, it may be given to B's claim: it is free when that ends.
//   - With Replicas or Fsync there are no claims: what B hears of may be on no replica yet.

const (
	// claimTime is how long a claim stands, and a lock that was given to it (CLAIM in scripts/claim.lua).
	claimTime = 2 * time.Second
	// claimRenewal is when a lock that was given to a claim is renewed first: most holds are shorter.
	claimRenewal = 50 * time.Millisecond
)

// claim is what Redis may give us the lock for.
type claim struct {
	id    uint64 // the number of the tenure that would be; 0: there is none
	code  int64  // by which we know that it was given to us: that of the last acquire by which it stands; 0: it was heard
	sent  Time   // when the last acquire left by which it stands
	ends  Time   // when nothing of it can be left in Redis
	epoch uint32 // of the link, then
	asked uint64 // the last tenure that was asked for by an AcquireClaim
}

// mayClaim reports whether w can have a lock that is renewed soon after it is given.
func (w *Waiter) mayClaim() bool { return w.Watch && w.Least == 0 && w.Lease >= claimTime && !w.Try }

// noteClaim notes that an acquire was refused, and whether it has left a claim. If it could not, one that stood before stands as
// it did. An owner id of which a release is to be sent claims nothing any more: it was freed by force, or a copy of an acquire may
// still arrive.
func (r *rivals) noteClaim(now Time, asked *Command, code int64) {
	cl := &r.claim
	switch {
	case r.orphans.of(asked.ID) >= 0:
		r.forgetClaim(asked.ID)
	case asked.Reply.Claimed():
		cl.id, cl.code, cl.sent, cl.epoch = asked.ID, code, asked.Sent, asked.Epoch
		cl.ends = now + claimTime + 2*margin(claimTime)
	}
}

// takeCode reports whether one of the messages says that the lock was given to the claim.
func (c *claim) takeCode(news *News) bool {
	if c.id == 0 || !slices.Contains(news.codes[:news.kept], c.code) {
		return false
	}
	c.code = 0
	return true
}

// claims reports whether waiters of this name may have claims.
func (l *Lock) claims() bool {
	return l.cfg.Code != nil && l.traits().claims && l.contest.rivals != &noRivals
}

// takeClaimed takes the lock that a release has given to our claim, if one of the codes says so. When it cannot be taken here, a question
// finds it, which is asked at once: a fenced one needs its tokens, and what was claimed over another link is not believed.
func (l *Lock) takeClaimed(now Time, news News, fx *Effects) bool {
	if !l.claims() || !l.contest.rivals.claim.takeCode(&news) {
		return false
	}
	l.endDue(now)
	r, g, w := l.contest.rivals, &l.lease, l.contest.queue.head
	c, f := &r.claim, l.contest.queue.fair
	if l.traits().fenced || g.phase != free || l.flight != None || c.epoch != l.cfg.Epoch || w == nil || !w.mayClaim() ||
		f != nil && w.place != c.id || now >= c.sent+claimTime-margin(claimTime) {
		l.again = g.phase != ours && w != nil
		return false
	}
	acquire := Command{Op: AcquireClaim, ID: c.id, Lease: claimTime, Sent: c.sent, Epoch: c.epoch}
	g.ask(c.id, w.Lease, w.Watch, true)
	g.phase, g.Ends = ours, c.ends
	if f != nil {
		f.noteUnsure(now, &g.Tenure)
	}
	g.confirm(now, &acquire, l.cfg)
	g.Next = now + min(claimRenewal, (g.Deadline-now)/4)
	r.forgetClaim(c.id)
	l.again = false
	l.endYield(false, now)           // somebody had it
	acquire.Lease = g.Deadline - now // what is left of it
	l.admitOrDrop(now, g, &acquire)
	return true
}

// abandonClaim has a claim removed that nobody wants any more.
func (l *Lock) abandonClaim(now Time) {
	if !l.claims() || l.contest.rivals.claim.id == 0 || l.lease.phase != free || l.contest.queue.lasting() > 0 {
		return
	}
	r := l.contest.rivals
	if now < r.claim.ends && l.contest.queue.fair == nil { // a place that is given up takes its claim along
		r.orphans.add(orphan{id: r.claim.id, op: ReleaseClaim, at: now, ends: r.claim.ends})
	}
	r.claim.id = 0
}
