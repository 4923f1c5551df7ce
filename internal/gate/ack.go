package gate

// pendingAck is the callers of Unlock and Force that wait for the answer to a release.
type pendingAck struct{ ack Settler }

// owe has ack, which may be nil, hear of the next answer, besides those to whom it is owed already.
func (p *pendingAck) owe(ack Settler) {
	switch {
	case ack == nil:
	case p.ack == nil:
		p.ack = ack
	default:
		p.ack = both{p.ack, ack}
	}
}

// acknowledge answers them. It writes nothing if there are none, for a wait state without waiters is shared.
func (p *pendingAck) acknowledge(out Outcome) {
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
