package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Why is what became of a request or a hold.
type Why uint8

// The outcomes a machine tells. engine/errors.go turns them into errors.
const (
	Granted       Why = iota // also: unlocked, extended
	Taken                    // another owner has it
	TimedOut                 // Until is over; Outcome.Last says what the last answer was
	Down                     // not sent: the link is down
	Doubtful                 // no answer from Redis: the outcome is unknown
	Refused                  // the server said no
	Foreign                  // the key is not of this kind of lock
	Lost                     // the lease ended, or the key was gone
	TooLong                  // MaxHold is over
	Unlocked                 // by its holder
	Closed                   // the engine closes
	Overloaded               // too many wait already
	OtherKind                // the name lives as another kind
	AliasLives               // its alias lives, with which it would share keys
	Deadlock                 // its Owner reads, and would wait for itself
	NotReplicated            // replicas have it: it was given back
	TooLate                  // the lease was over when its answer came, or it reached Redis too late: nothing is held
	GaveUp                   // its caller waits no longer; Outcome.Last says what the last answer was
)

// Outcome is an answer to a caller.
type Outcome struct {
	Why           Why
	Last          Why           // TimedOut and GaveUp: the last answer, with what belongs to it; Down: Redis did not answer
	TTL           time.Duration // Taken, also as Last: what the owner's lease has left; negative: no TTL
	N             int64         // Granted, for changes: the script's answer
	Fault         scripts.Fault // Refused, also as Last, and Foreign, when a script said so
	ServerMessage string        // Refused, also as Last: the server's own words, when it said so at top level; Down and Doubtful, likewise: why; TooLate: how late
	Passes        bool          // Refused: the reason can pass by itself
}

// final reports whether it is no use to wait after this answer.
func (o Outcome) final() bool {
	return o.Why == Foreign || o.Why == Refused && !o.Passes
}

// Unanswered is the answer in Redis's place to a caller that waits a limited time for one.
var Unanswered = Outcome{Why: Doubtful, ServerMessage: "there was no answer within AnswerTimeout"}

// Settler is a caller waiting for an outcome.
type Settler interface {
	// Settle answers, and is called once. False: the caller has gone; nothing was handed over.
	// It does not block (rule 17) and runs no code of users. A waiter that it
	// answered is its caller's again, which may use it for another call: the loop must not look at it any more.
	Settle(Outcome) bool
}

// settle answers a caller, which may be nil.
func settle(ack Settler, out Outcome) {
	if ack != nil {
		ack.Settle(out)
	}
}

// InVain is the caller of an Unlock, or of a Change that gives permits, for a grant that comes too late for its caller: no least
// time keeps the name taken, and the permits are given however often Redis refuses them.
var InVain Settler = unwanted{}

type unwanted struct{}

func (unwanted) Settle(Outcome) bool { return true }

// pendingAck is the callers of Unlock and Force that wait for the answer to a release.
type pendingAck struct{ ack Settler }

// add registers ack, if it is not nil, for the next answer.
func (p *pendingAck) add(ack Settler) {
	switch {
	case ack == nil:
	case p.ack == nil:
		p.ack = ack
	default:
		p.ack = both{p.ack, ack}
	}
}

// settle answers them. It writes nothing if there are none, for a wait state without waiters is shared.
func (p *pendingAck) settle(out Outcome) {
	if ack := p.ack; ack != nil {
		p.ack = nil
		ack.Settle(out)
	}
}

// both is two callers that wait for the same answer.
type both [2]Settler

func (b both) Settle(out Outcome) bool {
	b[0].Settle(out)
	return b[1].Settle(out)
}
