package gate

import "time"

// lastAnswer is the last answer of Redis about the waiters for a name; Down: there was none.
type lastAnswer struct {
	Outcome
	notBefore Time // after a grant that was given back: no question leaves before, whatever is published
}

// outcome is the last answer, for a waiter that gives up; freeAt is when the owner's lease ends.
func (l *lastAnswer) outcome(now, freeAt Time) Outcome {
	out := l.Outcome
	out.Last = l.Why
	if out.Last == Taken {
		out.TTL = timeLeft(now, freeAt)
	}
	return out
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
