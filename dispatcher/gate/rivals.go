package gate

import "time"

// rivals is what is known of other processes that want a name. It is made, with what is unfinished there, when the first of these begins, so that a
// name without competition stays small.
type rivals struct {
	unfinished
	listening
	inbox  subscription // to the channel of the messages that are for this engine alone
	turns  turns
	keep   Time       // how long turns, or a pause, are remembered without waiters here; Never: they are not
	theirs otherLease // the lease of the owner that refused us
	last   lastAnswer // about the waiters

	spins   uint8 // refusals in a row of waiters that poll
	place   place
	listens bool // this engine's place is to listen to the lock's channel

	returned Time // when an old gift was last released, or is to be
}

func newRivals() rivals {
	return rivals{listening: listening{subscription: subscription{linger: Never}}, inbox: subscription{linger: Never}, keep: Never, last: lastAnswer{Outcome: Outcome{Why: Down}}}
}

// noRivals are those of every name without competition. They are shared, and never written to.
var noRivals = newRivals()

// nextAlarm is when the first of these is due; free: orphans may be released.
func (r *rivals) nextAlarm(free bool) Time {
	if free {
		return min(r.linger, r.inbox.linger, r.keep, r.orphans.nextAlarm())
	}
	return min(r.linger, r.inbox.linger, r.keep)
}

func (r *rivals) idle() bool {
	return r.state == unsubscribed && r.inbox.state == unsubscribed && r.keep == Never && len(r.orphans) == 0
}

// forgetPlace forgets the place of an owner id that has the lock, or is to be released.
func (r *rivals) forgetPlace(id uint64) {
	if id != 0 && r.place.id == id {
		r.place.id = 0
	}
}

// The sleep of a waiter that polls: 1 ms doubling to 128 ms, as in Redisson's spin lock, a part of it random. One question is for all waiters of
// this process, so it asks as often as so many separate pollers would. If another owner has taken the name since the last question, the sleep
// begins again at changingSpins, 16 ms: several processes with turns of their own leave the name free for a few ms between these, and one
// that asked less often than the others would hardly ever meet that.
//
// The first in line asks on behalf of all engines in it: commonTries times after each sleep up to longestPoll. If another owner has taken the name
// since the last question, it is free now and then, for a moment if a poller takes it again at once: then it asks every 4 ms.
const (
	changingSpins = 4
	commonTries   = 4
	mostSpins     = 32
	longestPoll   = 100 * time.Millisecond
)

// spin is how long so many waiters sleep after a refusal. seed is for the jitter.
func (r *rivals) spin(waiters int32, inLine bool, seed uint64) time.Duration {
	sleep := min(time.Millisecond<<r.spins, max(longestSpin/time.Duration(max(waiters, 1)), time.Millisecond))
	if inLine {
		sleep = min(time.Millisecond<<(r.spins/commonTries), longestPoll)
	}
	r.spins = min(r.spins+1, mostSpins)
	return sleep - jitter(seed, sleep/2)
}

// lastAnswer is the last answer of Redis about the waiters for a name; Down: there was none.
type lastAnswer struct {
	Outcome
	notBefore Time // after a grant that was given back: no question leaves before, whatever is published
}

// otherLease is the end of another owner's lease, as Redis said last. It lies between two instants, because the TTL was true at some time
// between the sending of the question and its answer.
type otherLease struct {
	ends   Time          // at the latest; Never: the key has no TTL
	spread time.Duration // the end may be so much earlier
}

// sameLease is how far the end of one lease may seem to move between two answers: Redis gives whole milliseconds.
const sameLease = 2 * time.Millisecond

// update records the TTL in the answer to a question that was sent then. changed reports whether another owner has taken the lock or
// renewed its lease since the answer before.
func (o *otherLease) update(now, sent Time, ttl time.Duration) (changed bool) {
	was := *o
	*o = otherLease{leaseEnd(now, ttl), now - sent}
	if was.ends == Never || o.ends == Never {
		return was.ends != o.ends
	}
	return o.ends-o.spread > was.ends+sameLease || was.ends-was.spread > o.ends+sameLease
}

// leaseEnd is when a lease with this TTL ends; a negative TTL means never.
func leaseEnd(now Time, ttl time.Duration) Time {
	if ttl < 0 {
		return Never
	}
	return now + ttl
}

// timeLeft is the time until the end of a lease; negative: it has no end.
func timeLeft(now, end Time) time.Duration {
	if end == Never {
		return -1
	}
	return max(end-now, 0)
}
