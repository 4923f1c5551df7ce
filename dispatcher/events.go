package dispatcher

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// ask is the request of a caller for a name.
type ask struct {
	waiter *gate.Waiter
	name   string
	kind   gate.Kind
	most   int32 // how many callers may wait for the name before it
}

func (a *ask) deliver(l *loop, now gate.Time) {
	w := a.waiter
	l.nodes.fast = l.nodes.fast || w.Fast
	e, why := l.gates.entry(a.name, a.kind)
	switch {
	case e == nil:
		l.cfg.Gate.Answer(w, gate.Outcome{Why: why})
		return
	case e.Machine.Waiting() >= int(a.most) && e.Queues(w):
		l.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Overloaded})
	case e.FailsWhileDown(now, w) && l.nodes.home(e.Slot).link.outOfReach():
		link := &l.nodes.home(e.Slot).link
		link.probeSoon(now)
		l.cfg.Gate.Answer(w, gate.Outcome{Why: gate.Down, ServerMessage: link.cause})
	default:
		l.askMachine(now, e, w)
	}
	l.gates.stepped(e)
}

// askMachine has the machine of an entry asked by a waiter.
func (l *loop) askMachine(now gate.Time, e *gate.Entry, w *gate.Waiter) {
	w.Entry = e
	if w.Hold != nil {
		w.Hold.Entry = e
	}
	if w.Until != 0 {
		w.Timer.Value = w
		l.cfg.Gate.Waits.Put(&w.Timer, wheel.Ceil(w.Until, Tick))
	}
	e.Machine.Ask(now, w, &l.gates.fx)
}

func (a *ask) refuse() { a.waiter.By.Settle(gate.Outcome{Why: gate.Closed}) }

// abandon ends the wait of a caller.
type abandon struct{ waiter *gate.Waiter }

func (a abandon) deliver(l *loop, now gate.Time) {
	if e := a.waiter.Entry; e != nil { // else it was refused before any machine had it
		e.Machine.EndWait(now, a.waiter, gate.GaveUp, &l.gates.fx)
		l.gates.stepped(e)
	}
}

// unlock is the end of a hold by its holder.
type unlock struct {
	hold *gate.Hold
	ack  gate.Settler // nil: nobody waits for the release
}

func (u *unlock) deliver(l *loop, now gate.Time) {
	l.acks.await(now, u.ack, func() {
		e := u.hold.Entry
		e.Machine.Unlock(now, u.hold, u.ack, &l.gates.fx)
		l.gates.stepped(e)
	})
}

func (u *unlock) refuse() { settle(u.ack, gate.Closed) }

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
	case l.closing && n.ack != gate.InVain: // what nobody wants is still given back
		return nil, gate.Closed
	}
	return l.gates.entry(n.name, n.kind)
}

// apply has the machine of a name do something, if it is an M.
func apply[M gate.Machine](l *loop, now gate.Time, of *nameRequest, do func(M)) {
	l.acks.await(now, of.ack, func() {
		e, why := of.entry(l)
		if e == nil {
			settle(of.ack, why)
			return
		}
		if m, can := e.Machine.(M); can {
			do(m)
		} else {
			settle(of.ack, gate.OtherKind)
		}
		l.gates.stepped(e)
	})
}

// extend prolongs a hold with a fixed lease.
type extend struct {
	nameRequest
	lease time.Duration
}

func (e *extend) deliver(l *loop, now gate.Time) {
	apply(l, now, &e.nameRequest, func(m gate.Machine) { m.Extend(now, e.hold, e.lease, e.ack, &l.gates.fx) })
}

// detach ends a hold and leaves its name taken.
type detach struct {
	nameRequest
	lease time.Duration
}

func (d *detach) deliver(l *loop, now gate.Time) {
	apply(l, now, &d.nameRequest, func(m *gate.Lock) { m.Detach(now, d.hold, d.lease, d.ack, &l.gates.fx) })
}

// wanted has a holder told when somebody else waits.
type wanted struct{ nameRequest }

func (w *wanted) deliver(l *loop, now gate.Time) {
	apply(l, now, &w.nameRequest, func(m *gate.Lock) { m.Wanted(now, w.hold, &l.gates.fx) })
}

// force releases a name for the owner that Redis has, whether it is one of ours or not.
type force struct {
	nameRequest
	owner string
	id    uint64 // the number of owner when it is one of ours, else 0
}

func (f *force) deliver(l *loop, now gate.Time) {
	apply(l, now, &f.nameRequest, func(m *gate.Lock) { m.Force(now, f.owner, f.id, f.ack, &l.gates.fx) })
}

// change changes a name without owners.
type change struct {
	nameRequest
	change gate.Change
}

func (c *change) deliver(l *loop, now gate.Time) {
	apply(l, now, &c.nameRequest, func(m *gate.Sequencer) { m.Change(now, c.change, &l.gates.fx) })
}

// suspect says that the key of a name may have changed behind our back.
type suspect struct{ name string }

func (s suspect) deliver(l *loop, now gate.Time) {
	if e := l.gates.names.find(s.name); e != nil {
		e.Machine.Suspect(now, &l.gates.fx)
		l.gates.stepped(e)
	}
}

// suspectNode says that other clients may have changed the keys of all names of the node at this address.
type suspectNode struct{ addr string }

func (s suspectNode) deliver(l *loop, now gate.Time) {
	there := func(e *gate.Entry) bool { return l.nodes.home(e.Slot).addr == s.addr }
	l.gates.visit(there, func(m gate.Machine) { m.Suspect(now, &l.gates.fx) })
}

// settle answers ack, if it is not nil.
func settle(ack gate.Settler, why gate.Why) {
	if ack != nil {
		ack.Settle(gate.Outcome{Why: why})
	}
}

// The rest are events that connections and subscribers of nodes put into the mailbox.

// returned is a connection whose batch has its answers.
type returned struct{ connection *connection }

func (r returned) deliver(*loop, gate.Time) { r.connection.node.returned(r.connection) }

// switched says that Sentinel made another server the master of a node.
type switched struct{ node *node }

func (s switched) deliver(_ *loop, now gate.Time) { s.node.switched(now) }

// broken says that a connection to an address broke, perhaps while no answer was expected. The loop probes the servers there.
type broken struct{ addr string }

func (b broken) deliver(l *loop, now gate.Time) {
	for _, n := range l.nodes.all {
		if n.link.state == linkUp && (l.nodes.cluster == nil || n.addr == b.addr) {
			n.link.probeAt = now
		}
	}
}

// A node is the subscriber.Owner of its subscriber. These methods run on goroutines of the subscriber and only put events into
// the mailbox.

func (n *node) Received()                     { n.nodes.mail.put(received{n}) }
func (n *node) Subscribed(channels []string)  { n.nodes.mail.put(&subscribed{n, channels}) }
func (n *node) Refused(channel, why string)   { n.nodes.mail.put(&refused{n, channel, why}) }
func (n *node) Redirected(channel, to string) { n.nodes.mail.put(&redirected{n, channel, to}) }
func (n *node) Broke()                        { n.nodes.mail.put(subscriberBroke{}) }

// received says that the subscriber of a node has messages, which it keeps until the loop takes them.
type received struct{ node *node }

func (r received) deliver(l *loop, now gate.Time) {
	for channel, news := range r.node.subscriber.Take() {
		l.routes.passMessage(now, channel, news)
	}
}

// subscribed is a confirmation that messages of these channels arrive from now on.
type subscribed struct {
	node     *node
	channels []string
}

func (s *subscribed) deliver(l *loop, now gate.Time) {
	for _, channel := range s.channels {
		if route, ok := l.routes.route(s.node, channel); ok {
			l.routes.confirm(now, channel, route, "")
			if route.hops > 0 {
				route.hops = 0
				l.routes.byChannel[channel] = route
			}
		}
	}
}

// refused is a channel that the Redis user of this engine may not subscribe to.
type refused struct {
	node             *node
	channel, message string // message is the server's
}

func (r *refused) deliver(l *loop, now gate.Time) {
	if route, ok := l.routes.route(r.node, r.channel); ok {
		l.routes.confirm(now, r.channel, route, r.message)
		delete(l.routes.byChannel, r.channel)
	}
}

// redirected is a channel that its node does not serve, or not any more.
type redirected struct {
	node             *node
	channel, message string // message is the server's; empty: the node has ended the subscription by itself
}

func (r *redirected) deliver(l *loop, now gate.Time) {
	if route, ok := l.routes.route(r.node, r.channel); ok {
		l.nodes.cluster.reroute(now, r.channel, route, r.message)
	}
}

// subscriberBroke is the end of the connection for messages to a node of a cluster.
type subscriberBroke struct{}

func (subscriberBroke) deliver(l *loop, now gate.Time) { l.nodes.cluster.survey.Request(now) }
