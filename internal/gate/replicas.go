package gate

import "github.com/wheellock/wheellock/scripts"

// Rule 25: with Options.Replicas a grant counts only when so many replicas have it, and so does what keeps one
// alive. Whether they have is asked after the command ran. If they have not, it comes back as UnderReplicated: what it gave
// is given back, and asked for again; what it prolonged ends when it would have ended without it.

// confirming are the operations after which somebody has something that he had not, or has it for longer.
var confirming = [Ops]bool{
	Renew: true, Confirm: true, Swap: true, RenewRead: true, RenewWrite: true, ConfirmRead: true, ConfirmWrite: true,
	Downgrade: true, PermitRenew: true, FairRelease: true, Adopt: true, Acquire: true, AcquireClaim: true, AcquireFenced: true, AcquireRead: true,
	AcquireWrite: true, PermitTake: true, FairAsk: true, Take: true,
}

// Confirms reports whether replicas are to have what the operation did before it counts.
func (o Op) Confirms() bool { return confirming[o] }

// Unreplicated notes that too few replicas have what c did. A refusal needs none.
func (c *Command) Unreplicated() {
	gave := confirming[c.Op] && c.Reply.Granted()
	switch c.Op {
	case Confirm, Swap, ConfirmRead, ConfirmWrite:
		gave = c.Reply >= 0
	case Downgrade:
		gave = c.Reply >= 0 || c.Reply == scripts.PublishDenied
	case FairRelease:
		gave = c.Reply == scripts.Passed
	}
	if gave && c.Result == Answered {
		c.Result = UnderReplicated
	}
}

// ran reports whether c has run in Redis and Reply is its answer.
func (c *Command) ran() bool { return c.Result == Answered || c.Result == UnderReplicated }
