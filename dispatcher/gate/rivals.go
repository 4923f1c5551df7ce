package gate

import (
	"slices"
	"time"
)

// rivals is what is known of other processes that want a name, and what more than to hold it our callers want of it. It is made when
// that begins, so that a name for which nobody competes stays small.
type rivals struct {
	subscription
	yielding
	turns  turns      // of a name with waiters that poll
	keep   Time       // until when the turns are remembered, although nobody wants the name here; Never: they are not
	theirs otherLease // of the owner that refused us
	last   lastAnswer // about the waiters

	spins     uint8  // refusals in a row, of a waiter that polls
	releasing bool   // the command in flight releases an orphan
	tokens    tokens // a fenced tenure's

	growing  growths
	orphans  orphans
	claim    claim
	stay     stay
	adopting adoptions
	wanting  wanting
}

func newRivals(cfg *Config) rivals {
	return rivals{subscription: newSubscription(cfg), keep: Never, last: lastAnswer{Outcome: Outcome{Why: Down}}}
}

// noRivals is those of a name that nobody competes for. It is never written to.
var noRivals = newRivals(&Config{})

// nextAlarm is when the first of these is due; free: orphans may be released.
func (r *rivals) nextAlarm(free bool) Time {
	if free {
		return min(r.linger, r.keep, r.orphans.nextAlarm())
	}
	return min(r.linger, r.keep)
}

// noteOurs notes that the name is ours.
func (r *rivals) noteOurs(now Time, cfg *Config) {
	r.yielding.noteOurs(now, cfg)
	r.turns.noteOurs(now)
	r.noteFound(now, true)
	r.spins = 0
}

// forgetTurns ends the memory of the turns when it is time.
func (r *rivals) forgetTurns(now Time) {
	if now >= r.keep {
		r.keep = Never
	}
}

func (r *rivals) idle() bool {
	return r.state == unsubscribed && r.keep == Never && len(r.orphans) == 0
}

// forced reports whether the tenure of this number was to be freed by force before the answer came that it is ours.
func (r *rivals) forced(id uint64) (ack Settler, forced bool) {
	o, forced := r.orphans.take(id)
	return o.ack, forced
}

// forgetClaim forgets the claim of a tenure that is ours, or is released.
func (r *rivals) forgetClaim(id uint64) {
	if id != 0 && r.claim.id == id {
		r.claim.id = 0
	}
}

// stayFor is for how long the name is to stay taken from now on.
func (r *rivals) stayFor(now Time) time.Duration {
	return max(r.stay.lease, r.stay.least, ceilMillis(r.stay.until-now))
}

// endStay has the name freed at once.
func (r *rivals) endStay() {
	if r.stay != (stay{}) {
		r.stay = stay{}
	}
}

// releaseArgs are those of a release of ours, or of that owner, if it is not empty.
func (r *rivals) releaseArgs(op Op, owner string) Args {
	a := ReleaseArgs{Owner: owner}
	if op == ReleaseClaim && r.state == subscribed {
		a.Own = 1
	}
	return a.Args()
}

// adoptions are the callers that want to take the place of an owner that stands in Redis, each under a fresh owner id. They do
// not stand in the queue: the name is not free, and nobody in the queue could have it instead. Each asks once.
type adoptions []*Waiter

// forget leaves out a caller that waits no longer. False: it is not among them.
func (as *adoptions) forget(w *Waiter) bool {
	i := slices.Index(*as, w)
	if i >= 0 {
		*as = slices.Delete(*as, i, i+1)
	}
	return i >= 0
}

// takeFor takes out the first that wants the place for which c asked, under t, or under one that is alike; nil: there is none.
func (as *adoptions) takeFor(c *Command, t *Tenure) *Waiter {
	i := slices.IndexFunc(*as, func(w *Waiter) bool {
		return w.Adopts == c.Args.Adopt().Owner && w.Lease == t.Lease && w.Watch == t.Watch && w.Least <= c.Lease
	})
	if i < 0 {
		return nil
	}
	w := (*as)[i]
	*as = slices.Delete(*as, i, i+1)
	return w
}

// dismissAdopters answers all waiters that want to take the place of another owner than that one.
func (r *rivals) dismissAdopters(cfg *Config, why Why, but string) {
	if len(r.adopting) == 0 {
		return
	}
	r.adopting = slices.DeleteFunc(r.adopting, func(w *Waiter) bool {
		away := w.Adopts != but
		if away {
			cfg.Answer(w, Outcome{Why: why})
		}
		return away
	})
}

// What a process that hands a mutex on among its own callers leaves to other processes: to those that listen by yielding
// (yielding.go), to those that poll by taking turns (turns.go). Without rivals there is nothing to leave.

// turnOver reports whether it is the turn of others, who have shown that they want the name; callers is how many of ours
// have it or want it.
func (r *rivals) turnOver(now Time, callers int32, polls bool, cfg *Config) bool {
	if polls {
		return r.turns.over(now, callers, cfg)
	}
	return r.yielding.over(callers)
}

// pause is how long we leave a name to others that listen; heard of them heard of its release, and waiters of ours wait.
func (r *rivals) pause(now Time, listeners, waiters int32, cfg *Config) time.Duration {
	if r == &noRivals || waiters == 0 && !r.yielding.short() { // no pause is kept that nobody is in
		return 0
	}
	return r.yielding.pause(now, listeners, cfg)
}

// pausePolling is how long we leave a freed name to others that poll. The end of our turn counts also if nobody waits
// here at this moment: callers that come again soon have the name as much as those that wait.
func (r *rivals) pausePolling(now Time, waiters int32, seed uint64, cfg *Config) time.Duration {
	if r == &noRivals {
		return 0
	}
	r.turns.freedAt = now
	r.keep = r.turns.settled()
	switch {
	case r.turnOver(now, waiters+1, true, cfg):
		return r.turns.leave(now, seed)
	case waiters == 0:
		return 0
	default:
		return r.spin(waiters, seed)
	}
}

// pausing reports whether a freed name is left to others although nobody waits here.
func (r *rivals) pausing() bool {
	return r.turns.pause || r.yield != 0 && r.short()
}

// Between the questions of a waiter that polls: 1 ms doubling to 128 ms as Redisson's spin lock, a part of it random.
//
// One question is for all waiters of this process. Several of them ask more often at first, commonTries times after
// each sleep up to commonSpin: a caller that has just unlocked asks again within one round trip, and most questions of
// the waiters miss the moment in which the name is free. After mostSpins refusals, about 200 ms, they ask every twice
// commonSpin, or as often as so many pollers would.
const (
	firstSpin   = time.Millisecond
	commonSpin  = 8 * time.Millisecond
	commonTries = 4
	mostSpins   = 32
)

// spin is how long so many waiters sleep after a refusal. seed is for the jitter.
func (r *rivals) spin(waiters int32, seed uint64) time.Duration {
	sleep := min(firstSpin<<r.spins, longestSpin)
	if waiters > 1 {
		sleep = min(firstSpin<<(r.spins/commonTries), commonSpin)
		if r.spins == mostSpins {
			sleep = max(min(longestSpin/time.Duration(waiters), 2*commonSpin), firstSpin)
		}
	}
	r.spins = min(r.spins+1, mostSpins)
	return sleep - jitter(seed, sleep/2)
}
