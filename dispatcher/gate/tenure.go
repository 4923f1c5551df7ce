package gate

import (
	"fmt"
	"time"
)

// Tenure is one ownership of a name in Redis, under one owner id that is never used again.
type Tenure struct {
	ID        uint64
	Lease     time.Duration
	Deadline  Time   // when it ends for us: sent + lease - margin of the last command that confirmed it
	Next      Time   // when the next command about it may leave: its renewal, or its release
	Confirmed Time   // when the last answer said that it is ours
	Unsure    Time   // until when an acquire that got no answer may still run in Redis; 0: none such
	Ends      Time   // when the key has surely run out in Redis, if nothing more is sent for it
	Epoch     uint32 // of the link that it was confirmed over
	Watch     bool   // the watchdog renews it
	Doubt     bool   // something unusual was seen since the last confirmation: no handoff (rule 8)
	Resent    bool   // a release left before the deadline and got no answer
	Stretched bool   // its key may have been given more than Lease: it is not handed on (rule 1)
}

// overdue is a grant of a lease that was over when the answer came.
func overdue(now Time, c *Command, lease time.Duration) Outcome {
	return Outcome{Why: TooLate, ServerMessage: fmt.Sprintf(
		"the lease of %v, less a margin of %v, was over when the answer came, %v after it was asked for: ask with a longer lease",
		lease, margin(lease), (now - c.Sent).Round(100*time.Microsecond))}
}

// watch has the watchdog renew the tenure, with that lease, from when it was confirmed.
func (t *Tenure) watch(lease time.Duration, confirmed Time) {
	t.Watch, t.Lease, t.Next = true, lease, confirmed+lease/3
}

// moveEnds notes that a command with this lease has run by then, or may have: the key's TTL counts from there.
func (t *Tenure) moveEnds(by Time, lease time.Duration) {
	t.Ends = max(t.Ends, by+lease+2*margin(lease))
	t.Stretched = t.Stretched || lease > t.Lease
}

// LateWindow is how long after it was sent an acquire may still take the lock: the script refuses it
// afterwards by the server's clock (rule 12). A link that takes longer than this is no link.
const LateWindow = 2 * time.Second

// unanswered notes that an acquire without an answer may still run until then.
func (t *Tenure) unanswered(until Time) {
	t.Unsure = until
	t.moveEnds(until, t.Lease)
}

// lateAfter is when an acquire sent then cannot run any more. A quarter of a second allows for what the engine
// knows of the server's clock.
func lateAfter(sent Time) Time { return sent + LateWindow + 250*time.Millisecond }

// margin is what a client's deadline lies before the server's: 1 % of the lease for clocks that run at
// different speeds, and at least 5 ms for the server's own rounding and wake-up.
func margin(lease time.Duration) time.Duration { return max(lease/100, 5*time.Millisecond) }

// TokenBlock is how many fencing tokens a tenure has: one for each grant by which it is handed on. Re-entry
// takes none. A tenure that has used up its tokens is freed and taken anew.
const TokenBlock = 64

// tokens are those a tenure has left.
type tokens struct{ next, last int64 }

func (t *tokens) any() bool { return t.next <= t.last }
