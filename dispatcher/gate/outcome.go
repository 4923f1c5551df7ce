package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Why is the result of a request or the reason for the end of a hold.
type Why uint8

// The results. engine/errors.go turns them into errors.
const (
	Granted       Why = iota // also: unlocked, extended
	Taken                    // another owner has it
	TimedOut                 // the waiter's Until has passed; Outcome.Last is the last answer
	Down                     // the command was not sent: the link is down
	Doubtful                 // Redis did not answer: what it did is not known
	Refused                  // the server refused
	Foreign                  // the key is not of this kind of lock
	Lost                     // the lease ran out, or the key was gone
	TooLong                  // the hold lasted for MaxHold
	Unlocked                 // the holder gave it back
	Closed                   // the engine closes
	Overloaded               // MaxWaitersPerName callers wait already
	OtherKind                // the name lives as another kind
	AliasLives               // a name with the same derived keys lives
	Deadlock                 // its Owner has a read hold, and would wait for itself
	NotReplicated            // too few replicas acknowledged it; it was released again
	TooLate                  // the lease was over when the answer came, or the command reached Redis too late: nothing is held
	GaveUp                   // the caller gave up; Outcome.Last is the last answer
	NotAlive                 // its holder has ended it, because a check of its own said so
)

// Outcome is an answer to a caller.
type Outcome struct {
	Why           Why
	Last          Why           // TimedOut, GaveUp and Doubtful: the last answer; the other fields belong to it; Down: Redis did not answer
	TTL           time.Duration // Taken, also as Last: what is left of the owner's lease; negative: it has no TTL
	N             int64         // Granted, for changes: the script's answer
	Fault         scripts.Fault // Foreign and Refused, also as Last: the script's fault, if a script refused
	ServerMessage string        // Refused, also as Last: the error that the server answered; Down and Doubtful: the reason; TooLate: how late it was
	Passes        bool          // Refused: the reason may pass by itself
	Absent        bool          // Taken, also as Last: no permits are there, free or held
}

// final reports whether later answers will be no better.
func (o Outcome) final() bool {
	return o.Why == Foreign || o.Why == Refused && !o.Passes
}

// Unanswered is the answer to a caller that waits a limited time for Redis, when that is over.
var Unanswered = Outcome{Why: Doubtful, ServerMessage: "there was no answer within AnswerTimeout"}

// Settler is a caller that waits for an outcome.
type Settler interface {
	// Settle passes the outcome to the caller. It is called once, does not block (invariant: loop-never-waits) and runs no code of users. False: the caller has
	// gone, and has nothing. A settled Waiter belongs to its caller, which may use it for another call: the loop must not look at it any
	// more.
	Settle(Outcome) bool
}

// settle answers ack, if it is not nil.
func settle(ack Settler, out Outcome) {
	if ack != nil {
		ack.Settle(out)
	}
}

// InVain is the ack of an Unlock, or of a Change that gives permits, by which a caller that has gone returns its grant: no least time keeps
// the name taken, and the permits are given however often Redis refuses them.
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

// settle answers the callers. Without callers it writes nothing, because noContest is shared.
func (p *pendingAck) settle(out Outcome) {
	if ack := p.ack; ack != nil {
		p.ack = nil
		ack.Settle(out)
	}
}

// note tells ack, if it can be told, what Redis says before it does what ack waits for.
func note(ack Settler, out Outcome) {
	if n, can := ack.(interface{ Note(Outcome) }); can {
		n.Note(out)
	}
}

// both is two callers that wait for the same answer.
type both [2]Settler

// Note tells both.
func (b both) Note(out Outcome) {
	note(b[0], out)
	note(b[1], out)
}

func (b both) Settle(out Outcome) bool {
	b[0].Settle(out)
	return b[1].Settle(out)
}
