package dispatcher

import "github.com/wheellock/wheellock/internal/gate"

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

// The rest is what the subscriber of a node tells: a node is its subscriber.Owner. These methods run on goroutines of the
// subscriber and only leave events.

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
