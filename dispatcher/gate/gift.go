package gate

import (
	"time"
)

// A release can give a mutex to an engine that waits for it. A hand-over between two processes then takes a release and a message, and no
// question after the message:
//
//  1. Engine B asks for the name under a fresh owner id. The mutex is taken. The script leaves B's place in the line for the mutex (line.go)
//     or, if that is fair, a claim of B's place in its queue. With both goes a code, and for how long the mutex is to be given: for the lease of the
//     waiter that asks, giftTime at most.
//  2. Engine A releases the mutex. The script gives it to B's owner id, removes the place or the claim, and publishes the code on a channel
//     that B listens to.
//  3. B receives its code. From then on it has the mutex as if its last answered acquire, which was refused, had been granted for that time: the
//     deadline counts from when that was sent, less a margin. Its renewal soon asks for the whole lease. If its waiter has a fixed lease or a
//     least time, or too little of the time may be left, B asks at once, under the same owner id, and the script finds that it has the mutex.
//
// So no clock is compared with another. Redis ran B's acquire after it had left, and gave the mutex later, for that time or for what was left
// of the claim. If an acquire is answered that no place and no claim stands, B counts from the one before.
//
// Until a code is published only B and Redis know it. A message without it is a hint like any other. No code counts if it may be published
// twice, or an old message could pass for a new one:
//
//  1. The mutex is given to B. The message stays on its way. B's time runs out, and another owner takes the mutex.
//  2. B asks under the same owner id, and has a place again. Then the message arrives.
//
// So each claim has a code of its own. A place has the code of its owner id, which counts only if the owner id came into line once, by an
// acquire that was answered.
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
//     script finds that this owner has the lock.
//   - B has died, or stands still: the mutex is free when its time is over.
//   - B adopted the mutex meanwhile, and it was taken from B: the code has B's lease asked for, which is not there, and then the mutex under the
//     owner id of the place.
//   - B has no waiter any more: it releases the owner id, which removes the place, or frees the mutex for the next.
//   - A's release gets no answer and is sent again: the owner is not there, so nothing is given a second time.
//   - An acquire gets no answer, or a copy of it comes late: the owner id may get a place, or the mutex. It is an orphan like that of any
//     acquire without an answer, and its release removes its place.
//   - The key is deleted, or a replica takes over that lacks the last changes: as with any lease.
//   - With Replicas or Fsync no message gives anything: when B hears of it, no replica may have the change yet. It asks.
//
// An engine of an earlier version gives a lock for two seconds, whatever stands beside the place, and publishes the code without the - before it. To
// such a message B asks.

const (
	// giftTime is how long a lock is given for at most (GIFT in scripts/line.lua), and the claim of a fair one stands (CLAIM in scripts/claim.lua). A stop of Redis for
	// five seconds after a grant loses no lock, and an engine that stands still keeps a lock from others for no longer.
	giftTime = 10 * time.Second
	// shortestGift is the shortest lease that is believed to be given: it allows a renewal soon after the grant, and no copy of the acquire can come
	// when it is over.
	shortestGift = LateWindow + clockError
	// freshGift is how long ago a question may have left for a message to be believed: longer than the default of PollCap. Of an older one too
	// little may be left.
	freshGift = 3 * time.Second
	// oldGiftPause is between two releases of owner ids that an old message, sent once more, may have named.
	oldGiftPause = 40 * time.Millisecond
)

// place is this engine's in the line of a lock, or that in the queue of a fair one which has a claim: a release may give it the lock.
type place struct {
	id      uint64        // the owner id that would have the lock; 0: there is none
	code    int64         // a message with it says that the lock is ours; 0: none does
	sent    Time          // when the last acquire left that was answered "it stands"
	gift    time.Duration // the longest lease of those acquires, giftTime at most: for so long the lock is given
	ends    Time          // when Redis has surely forgotten it, if nobody else keeps the line
	epoch   uint32        // of the link, when that acquire was asked for
	doubted uint64        // the owner id of the last acquire in line that got no answer
	write   bool          // it is a writer's
}

// acceptsGift reports whether a message can give the lock to w.
func (w *Waiter) acceptsGift() bool {
	return w.Write && w.Watch && w.Least == 0 && w.LeaseTime >= shortestGift && !w.Try
}

// endPlace forgets the place of an owner id with a release that is still to be sent: it was freed by force, or a copy of an acquire may still
// arrive. False: there is no such release.
func (r *rivals) endPlace(now Time, id uint64) bool {
	if r.orphans.of(id) < 0 {
		return false
	}
	r.forgetPlace(id)
	r.orphans.leaveLine(now) // or a release would give the lock to it
	return true
}

// placed records that an acquire that was refused stands at its place, with that code.
func (r *rivals) placed(now Time, asked *Command, code int64) {
	if r.endPlace(now, asked.ID) {
		return
	}
	p := &r.place
	if p.id != asked.ID {
		p.gift = 0
	}
	p.id, p.code, p.sent, p.epoch, p.write = asked.ID, code, asked.Sent, asked.Epoch, asked.Op != AcquireRead
	p.gift = max(p.gift, min(asked.LeaseTime, giftTime))
	p.ends = giftEnds(now)
}

// giftEnds is when Redis has surely forgotten what it gives until now.
func giftEnds(now Time) Time { return now + giftTime + 2*margin(giftTime) }

// takeCode reports whether one of the messages has the place's code, and uses the code up.
func (p *place) takeCode(news *News) bool {
	if p.id == 0 || !news.has(p.code) {
		return false
	}
	p.code = 0
	return true
}

// takeGift takes the lock if a message says that a release gave it to us. If the message is not enough, it asks for the lock at once: a
// fenced lock needs its tokens, what was asked for over another link is not trusted, and little may be left of a gift.
func (l *Lock) takeGift(now Time, news News, fx *Effects) bool {
	if !l.contest.rivals.place.takeCode(&news) {
		return false
	}
	l.endDue(now)
	r, g, w := l.contest.rivals, &l.lease, l.contest.queue.head
	p, f := &r.place, l.contest.queue.fair
	least := max(p.gift-freshGift, p.gift/8, 8*l.cfg.RTT) // must be left of it, for the renewals: else the lock is asked for
	if l.traits().fenced || l.lease.phase != free || l.flight != None || p.epoch != l.cfg.Epoch || w == nil || !w.acceptsGift() ||
		f != nil && w.place != p.id || now >= p.sent+p.gift-margin(p.gift)-least {
		l.contest.askAt = now
		return false
	}
	acquire := Command{LeaseTime: p.gift, Sent: p.sent, Epoch: p.epoch} // as if it were granted now
	g.ask(p.id, w.LeaseTime, w.Watch, true)
	g.phase, g.inLine = ours, f == nil
	if f != nil {
		f.noteUnsure(now, &g.Tenure)
	}
	g.confirm(now, &acquire, l.cfg)
	g.Next = now + 50*time.Millisecond // most holds are shorter
	r.forgetPlace(p.id)
	acquire.LeaseTime = g.Deadline - now // what is left of it
	l.admitOrDrop(now, g, &acquire)
	return true
}

// returnOldGifts releases what a message says was given to an earlier place of ours: Redis knows it again after a restart or a failover, and else
// nobody would have the lock until the gift is over.
func (l *Lock) returnOldGifts(now Time, news *News) {
	r := l.contest.rivals
	for _, code := range news.codes[:news.kept] {
		id := l.cfg.Codes.Number(-code)
		if id-1 < l.cfg.LastID && id != r.place.id && l.leaseOf(id) == nil && r.orphans.of(id) < 0 {
			r.returned = max(now, r.returned+oldGiftPause)
			r.orphans.add(orphan{id: id, op: l.ops(true).releaseFromLine, inLine: true, at: r.returned, early: r.returned, ends: giftEnds(r.returned)})
		}
	}
}

// abandonPlace has our place removed if no waiter wants it any more.
func (l *Lock) abandonPlace(now Time) {
	p, q := &l.contest.rivals.place, &l.contest.queue
	if p.id == 0 || l.leaseOf(p.id) != nil || q.lasting() > 0 && q.head.Write == p.write {
		return
	}
	if l.Kind.InLine() { // a place in the queue of a fair lock that is given up takes its claim along
		op := l.ops(p.write).releaseFromLine
		l.contest.rivals.orphans.add(orphan{id: p.id, op: op, inLine: true, ends: p.ends})
	}
	p.id = 0
}
