package gate

import (
	"slices"
	"time"
)

// A claim lets a release give a mutex to an engine that waits for it. A hand-over between two processes then takes a release and a message,
// and no question after the message:
//
//  1. Engine B listens to the name's channel and asks for the name under a fresh owner id, by an AcquireClaim. The mutex is taken. The
//     script leaves B's claim in a hash beside the lock: the owner id, a code, and the time until which it stands, claimTime from now.
//  2. Engine A releases the mutex by a ReleaseClaim. If the oldest claim stands for another second, the script gives the mutex to its
//     owner id until the claim ends, removes the claim, and publishes its code on the name's channel in place of the 0.
//  3. B receives its code. From then on it has the mutex as if the AcquireClaim that was refused had been granted with a lease of
//     claimTime: the deadline counts from when that was sent, less a margin. Its renewal soon asks for the whole lease.
//
// So no clock is compared with another. Redis ran B's AcquireClaim after it had left, and let the claim and then the key stand for
// claimTime from there. A later AcquireClaim under the same owner id lets both stand longer; if Redis refuses that, its reply says so, and
// B counts from the one before.
//
// Each AcquireClaim has a code of its own. Until it is published only B and Redis know it. A message without the code of B's last answered
// AcquireClaim is a hint like any other. If all questions under one owner id had the same code, an old message could pass for a new one:
//
//  1. The mutex is given to B. The message stays on its way. B's two seconds run out, and another owner takes the mutex.
//  2. B asks under the same owner id, and has a claim again. Then the message arrives.
//
// A fenced mutex needs tokens, and no message may bring them. So B asks at once when it receives its code, under the same owner id, and the
// answer brings the tokens. A code counts once: any message after it, or beside it, is a hint.
//
// A release gives a fair mutex only to the head of its queue, if the head's claim stands for another second. The owner id is the head's
// place, a FairAsk leaves the claim, and the code is published on the head's own channel in place of the 0. The order stays the queue's: no
// claim brings a place forward, Redisson's heads are woken as ever, and a place that is given up takes its claim along. If it is the turn
// of the next waiter in the process that releases, that waiter goes first, as without claims. If nobody receives the code, the mutex
// becomes free, and the head keeps its place.
//
// Other cases:
//
//   - The message is lost, comes late, or arrives while another command of the name is on its way: B asks under the same owner id, and the
//     script finds that this owner has the lock. Other listeners took the code for a hint, asked, got the TTL, and ask again when the
//     claim has run out.
//   - B has died, or stands still: the mutex is free when the claim ends, at most 2 s after B's question. Nobody queues behind B: claims
//     are an order, not a right, and a TryLock or a Lock that comes when the mutex is free gets it.
//   - B has no waiter any more: it sends the ReleaseClaim of the owner id, which removes the claim, or gives the mutex to the next.
//   - A's release gets no answer and is sent again: the owner is not there, so nothing is given a second time.
//   - An AcquireClaim gets no answer, or a copy of it comes late: the owner id may get the mutex until claimTime after that. It is an
//     orphan like that of any acquire without an answer, and its release removes its claim.
//   - The key is deleted, or a replica takes over that lacks the last changes: as with any lease.
//   - A listener has no claim: it may be a waiter of Redisson, so the release frees the mutex and publishes 0. Pollers leave no trace in
//     Redis, so one release in 100 ms does the same.
//   - B has died, and a waiter of Redisson listens in its place. The mutex is given to B, and a 1 is published besides: Redisson's waiters
//     ask, and learn that they have to wait for at most 2 s. No engine heeds the 1.
//   - The hash slot is moving, and the claims are at another node than the lock: the mutex is taken or released as if there were no claims
//     (Unclaimed). If B took and left the mutex in this way, a release may still give it to B's old claim: it is free when that ends.
//   - With Replicas or Fsync there are no claims: when B receives its code, no replica may have the change yet.

const (
	// claimTime is how long a claim stands, and a lock that was given to it (CLAIM in scripts/claim.lua).
	claimTime = 2 * time.Second
	// claimRenewal is when a lock that was given to a claim is renewed first. Most holds are shorter.
	claimRenewal = 50 * time.Millisecond
)

// claim is the claim of this engine in Redis, by which a release may give it the lock.
type claim struct {
	id    uint64 // the owner id that would have the lock; 0: there is no claim
	code  int64  // the code of the last answered acquire of the claim: a message with it says that the lock is ours; 0: it was received
	sent  Time   // when the last acquire left that was answered "the claim stands"
	ends  Time   // when Redis has surely forgotten it
	epoch uint32 // of the link, when that acquire was asked for
	asked uint64 // the owner id of the last AcquireClaim
}

// mayClaim reports whether a claim can get the lock for w: its lease must allow a renewal soon after the grant.
func (w *Waiter) mayClaim() bool { return w.Watch && w.Least == 0 && w.Lease >= claimTime && !w.Try }

// noteClaim records whether an acquire that was refused has left a claim. If it has not, an earlier claim stands as before. An owner id
// with a release that is still to be sent gets no claim: it was freed by force, or a copy of an acquire may still arrive.
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

// takeCode reports whether one of the messages has the claim's code, and uses the code up.
func (c *claim) takeCode(news *News) bool {
	if c.id == 0 || !slices.Contains(news.codes[:news.kept], c.code) {
		return false
	}
	c.code = 0
	return true
}

// claims reports whether waiters of this name may leave claims.
func (l *Lock) claims() bool {
	return l.cfg.Code != nil && l.traits().claims && l.contest.rivals != &noRivals
}

// takeClaimed takes the lock if a message says that a release gave it to our claim. If the message is not enough, it asks for the lock at
// once: a fenced lock needs its tokens, and a claim that was left over another link is not trusted.
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
	l.endYield(false, now)           // another process had the name
	acquire.Lease = g.Deadline - now // what is left of it
	l.admitOrDrop(now, g, &acquire)
	return true
}

// abandonClaim has a claim removed if no waiter wants it any more.
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
