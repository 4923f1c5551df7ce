package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// ask is a caller that wants a name.
type ask struct {
	waiter *gate.Waiter
	name   string
	kind   gate.Kind
}

func (e *ask) deliver(l *loop, now gate.Time) {
	w := e.waiter
	c, why := l.gates.entry(e.name, e.kind)
	switch {
	case c == nil:
		l.cfg.Gate.Answer(w, gate.Outcome{Why: why})
		return
	case int(c.Machine.Waiting()) >= l.cfg.MaxPerName:
		l.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Overloaded})
	case w.Try && l.nodes.nobodyKnows(c):
		l.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Down, ServerMessage: l.nodes.home(c.Slot).link.cause})
	default:
		l.admit(now, c, w)
	}
	l.gates.stepped(c)
}

// admit has the machine of an entry asked by a waiter.
func (l *loop) admit(now gate.Time, c *gate.Entry, w *gate.Waiter) {
	w.Entry = c
	if w.Hold != nil {
		w.Hold.Entry = c
	}
	if w.Until != 0 {
		w.Timer.Value = w
		l.cfg.Gate.Waits.Put(&w.Timer, wheel.Ceil(w.Until, Tick))
	}
	c.Machine.Ask(now, w, &l.gates.fx)
}

func (e *ask) refuse() { e.waiter.By.Settle(gate.Outcome{Why: gate.Closed}) }

// abandon is a caller that waits no longer.
type abandon struct{ waiter *gate.Waiter }

func (e abandon) deliver(l *loop, now gate.Time) {
	if c := e.waiter.Entry; c != nil { // else it was turned away before any machine heard of it
		c.Machine.Abandon(now, e.waiter, &l.gates.fx)
		l.gates.stepped(c)
	}
}

// unlock is the end of a hold by its holder.
type unlock struct {
	hold *gate.Hold
	ack  gate.Settler // nil: nobody waits for the release
}

func (e *unlock) deliver(l *loop, now gate.Time) {
	l.acks.await(now, e.ack, func() {
		c := e.hold.Entry
		c.Machine.(gate.Lockable).Unlock(now, e.hold, e.ack, &l.gates.fx) // a kind that gives holds takes them back
		l.gates.stepped(c)
	})
}

func (e *unlock) refuse() { settle(e.ack, gate.Closed) }

// nameRequest is what all requests about a name have in common, but for those to have it.
type nameRequest struct {
	hold *gate.Hold // whose name it is; nil: name and kind say it
	name string
	kind gate.Kind
	ack  gate.Settler // nil: nobody waits for an answer
}

func (n *nameRequest) refuse() { settle(n.ack, gate.Closed) }

// entry returns the entry of the name. Nil, and why: there is none.
func (n *nameRequest) entry(l *loop) (*gate.Entry, gate.Why) {
	switch {
	case n.hold != nil:
		return n.hold.Entry, 0
	case l.closing:
		return nil, gate.Closed
	}
	return l.gates.entry(n.name, n.kind)
}

// step has the machine of a name do something, if it is of a sort that can.
func step[M gate.Machine](l *loop, now gate.Time, of *nameRequest, do func(M)) {
	l.acks.await(now, of.ack, func() {
		c, why := of.entry(l)
		if c == nil {
			settle(of.ack, why)
			return
		}
		if m, can := c.Machine.(M); can {
			do(m)
		} else {
			settle(of.ack, gate.OtherKind)
		}
		l.gates.stepped(c)
	})
}

// extend prolongs a hold with a fixed lease.
type extend struct {
	nameRequest
	lease time.Duration
}

func (e *extend) deliver(l *loop, now gate.Time) {
	step(l, now, &e.nameRequest, func(m gate.Lockable) { m.Extend(now, e.hold, e.lease, e.ack, &l.gates.fx) })
}

// detach ends a hold and leaves its name taken.
type detach struct {
	nameRequest
	lease time.Duration
}

func (e *detach) deliver(l *loop, now gate.Time) {
	step(l, now, &e.nameRequest, func(m gate.Detachable) { m.Detach(now, e.hold, e.lease, e.ack, &l.gates.fx) })
}

// wanted has a holder told when somebody else waits.
type wanted struct{ nameRequest }

func (e *wanted) deliver(l *loop, now gate.Time) {
	step(l, now, &e.nameRequest, func(m gate.Wantable) { m.Wanted(now, e.hold, &l.gates.fx) })
}

// force frees the owner that stands in Redis for a name.
type force struct {
	nameRequest
	owner string
	id    uint64 // the number of owner when it is one of ours, else 0
}

func (e *force) deliver(l *loop, now gate.Time) {
	step(l, now, &e.nameRequest, func(m gate.Forcible) { m.Force(now, e.owner, e.id, e.ack, &l.gates.fx) })
}

// change changes a name without owners.
type change struct {
	nameRequest
	change gate.Change
}

func (e *change) deliver(l *loop, now gate.Time) {
	step(l, now, &e.nameRequest, func(m gate.Counting) { m.Change(now, e.change, &l.gates.fx) })
}

// suspect says that the key of a name may have changed behind our back.
type suspect struct{ name string }

func (e suspect) deliver(l *loop, now gate.Time) {
	if c := l.gates.names.find(e.name); c != nil {
		c.Machine.Suspect(now, &l.gates.fx)
		l.gates.stepped(c)
	}
}

// suspectNode says that the keys of all names of the node at this address may have changed behind our back.
type suspectNode struct{ addr string }

func (e suspectNode) deliver(l *loop, now gate.Time) {
	for c := range l.gates.names.all() {
		if l.nodes.home(c.Slot).addr == e.addr {
			c.Machine.Suspect(now, &l.gates.fx)
			l.gates.stepped(c)
		}
	}
}

// settle answers ack, if it is not nil.
func settle(ack gate.Settler, why gate.Why) {
	if ack != nil {
		ack.Settle(gate.Outcome{Why: why})
	}
}

// The rest is what nodes tell.

// returned is a connection that is back with its answers.
type returned struct{ connection *connection }

func (e returned) deliver(*loop, gate.Time) { e.connection.node.returned(e.connection) }

// switched is Sentinel having made another server the master of a node.
type switched struct{ node *node }

func (e switched) deliver(_ *loop, now gate.Time) { e.node.switched(now) }

// broken is a connection to an address that turned out to be broken, perhaps while nobody waited for an answer: is the server
// still there?
type broken struct{ addr string }

func (e broken) deliver(l *loop, now gate.Time) {
	for _, n := range l.nodes.all {
		if n.link.state == linkUp && (l.nodes.cluster == nil || n.addr == e.addr) {
			n.link.probeAt = now
		}
	}
}

// What the subscriber of a node tells: a node is its subscriber.Owner. These methods run on goroutines of the subscriber and
// only leave events.

func (n *node) Heard()                        { n.nodes.mail.put(heard{n}) }
func (n *node) Subscribed(channels []string)  { n.nodes.mail.put(&subscribed{n, channels}) }
func (n *node) Refused(channel, why string)   { n.nodes.mail.put(&refused{n, channel, why}) }
func (n *node) Redirected(channel, to string) { n.nodes.mail.put(&redirected{n, channel, to}) }
func (n *node) Broke()                        { n.nodes.mail.put(subscriberBroke{}) }

// heard is messages, which the subscriber keeps until the loop takes them.
type heard struct{ node *node }

func (e heard) deliver(l *loop, now gate.Time) {
	for channel, news := range e.node.subscriber.Hear() {
		l.routes.message(now, channel, news)
	}
}

// subscribed is channels that are heard now.
type subscribed struct {
	node     *node
	channels []string
}

func (e *subscribed) deliver(l *loop, now gate.Time) {
	for _, channel := range e.channels {
		if r, ok := l.routes.route(e.node, channel); ok {
			l.routes.confirm(now, r, "")
			if r.hops > 0 {
				r.hops = 0
				l.routes.heard[channel] = r
			}
		}
	}
}

// refused is a channel that this user may not listen to.
type refused struct {
	node             *node
	channel, message string // message is the server's
}

func (e *refused) deliver(l *loop, now gate.Time) {
	if r, ok := l.routes.route(e.node, e.channel); ok {
		l.routes.confirm(now, r, e.message)
		e.node.channels-- // nothing will be heard there, and nobody will say that it is over
		delete(l.routes.heard, e.channel)
	}
}

// redirected is a channel that its node does not serve, or not any more.
type redirected struct {
	node             *node
	channel, message string // message is the server's; empty: the node has ended the subscription by itself
}

func (e *redirected) deliver(l *loop, now gate.Time) {
	if r, ok := l.routes.route(e.node, e.channel); ok {
		l.nodes.cluster.reroute(now, e.channel, r, e.message)
	}
}

// subscriberBroke is the end of the connection for messages to a node of a cluster.
type subscriberBroke struct{}

func (subscriberBroke) deliver(l *loop, now gate.Time) { l.nodes.cluster.survey.Soon(now) }
