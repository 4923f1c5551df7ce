package gate

import "time"

// lastAnswer is the last answer about the waiters for a name; Down: there was none.
type lastAnswer struct {
	Outcome
	notBefore Time // when the name may be asked for again at the earliest, whatever is published: it was given back
}

// outcome is what is known of the name, as the answer to a waiter that gives up; freeAt is when the owner's lease ends.
func (l *lastAnswer) outcome(now, freeAt Time) Outcome {
	out := l.Outcome
	out.Last = l.Why
	if out.Last == Taken {
		out.TTL = timeLeft(now, freeAt)
	}
	return out
}

// otherLease is what Redis last said of the lease of another owner: that it ends between two instants, for what was left of it
// was true at a time between the sending of the question and its answer.
type otherLease struct {
	ends   Time          // at the latest; Never: it has no end
	spread time.Duration // it may be so much earlier
}

// sameLease is by how much the end of a lease may seem to move besides: Redis tells whole milliseconds.
const sameLease = 2 * time.Millisecond

// update takes an answer to a question that was sent then. changed reports whether somebody has taken or prolonged the lock since
// the answer before.
func (o *otherLease) update(now, sent Time, ttl time.Duration) (changed bool) {
	was := *o
	*o = otherLease{leaseEnd(now, ttl), now - sent}
	if was.ends == Never || o.ends == Never {
		return was.ends != o.ends
	}
	return o.ends-o.spread > was.ends+sameLease || was.ends-was.spread > o.ends+sameLease
}

// leaseEnd is when a lease of which ttl is left ends; a negative one has no end.
func leaseEnd(now Time, ttl time.Duration) Time {
	if ttl < 0 {
		return Never
	}
	return now + ttl
}

// timeLeft is what is left of a lease that ends then; negative when it has no end.
func timeLeft(now, end Time) time.Duration {
	if end == Never {
		return -1
	}
	return max(end-now, 0)
}
