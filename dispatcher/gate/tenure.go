package gate

import (
	"fmt"
	"time"
)

// Tenure is one ownership of a name in Redis, under one owner id that is never used again. A Lease is a Tenure with its holds; a permit of
// Permits is another.
type Tenure struct {
	ID        uint64
	LeaseTime time.Duration
	Deadline  Time   // when it ends here: sent + lease - margin of the last command that confirmed it
	Next      Time   // when the next command about it may leave: a renewal or a release
	Confirmed Time   // when the last answer said that it stands
	Unsure    Time   // how long an acquire without an answer may still run in Redis; 0: there is none
	Ends      Time   // when its TTL has surely run out in Redis, if no further command is sent for it
	Epoch     uint32 // of the link over which it was confirmed
	Watch     bool   // the watchdog renews it
	Doubt     bool   // something unusual was seen since the last confirmation: it is not handed on (invariant: handoff-only-while-fresh)
	Resent    bool   // a release left before the deadline and got no answer
	Stretched bool   // its TTL may be longer than LeaseTime: it is not handed on (invariant: handoff-keeps-lease)
}

// overdue is the outcome of a grant with a lease that was over when the answer came.
func overdue(now Time, c *Command, lease time.Duration) Outcome {
	return Outcome{Why: TooLate, ServerMessage: fmt.Sprintf(
		"the lease of %v, less a margin of %v, was over when the answer came, %v after it was asked for: ask with a longer lease",
		lease, margin(lease), (now - c.Sent).Round(100*time.Microsecond))}
}

// fresh reports whether t may be handed on without asking Redis: for a while after a confirmation, unless something unusual was seen
// since, or the link has broken (invariant: handoff-only-while-fresh).
func (t *Tenure) fresh(now Time, cfg *Config) bool {
	return now < t.Deadline && now-t.Confirmed < cfg.HandoffTime && !t.Doubt && t.Epoch == cfg.Epoch
}

// watch makes the watchdog renew t with that lease, the watchdog's.
func (t *Tenure) watch(lease time.Duration) { t.Watch, t.LeaseTime = true, lease }

// moveEnds moves Ends for a command that has set this TTL, or may set it, at the time by at the latest.
func (t *Tenure) moveEnds(by Time, lease time.Duration) {
	t.Ends = max(t.Ends, by+lease+2*margin(lease))
	t.Stretched = t.Stretched || lease > t.LeaseTime
}

// LateWindow is how long after it was sent an acquire may take the lock: after that the script refuses it, by the server's clock
// (invariant: late-acquire-does-nothing).
// A link that takes longer counts as broken.
const LateWindow = 2 * time.Second

// unanswered records that an acquire without an answer may still run until then.
func (t *Tenure) unanswered(until Time) {
	t.Unsure = until
	t.moveEnds(until, t.LeaseTime)
}

// clockError is the engine's error about the server's clock at most.
const clockError = 250 * time.Millisecond

// lateAfter is when an acquire that was sent then cannot run any more.
func lateAfter(sent Time) Time { return sent + LateWindow + clockError }

// margin is how much earlier a deadline lies here than in Redis: 1 % of the lease for clocks of different speed, and at least 5 ms for the
// server's rounding and our wake-up.
func margin(lease time.Duration) time.Duration { return max(lease/100, 5*time.Millisecond) }

// TokenBlock is how many fencing tokens a lease has: each grant takes one, but for re-entries. A lease without a token left is released,
// and the lock taken anew.
const TokenBlock = 64

// tokens are those that a lease has left. The zero value is of a lock without fencing: one is always left.
type tokens struct{ next, last int64 }

func (t *tokens) any() bool { return t.next <= t.last }
