package dispatcher

import (
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// node is one Redis that serves names: what waits to be sent there, the lanes that carry it, what is known of
// the link, the ear for its messages, and its clock. Nothing of one node waits for another. The loop owns it; a
// lane reads client and server.
type node struct {
	d      *Dispatcher
	client rueidis.Client // one multiplexed connection
	server serverClock

	out  outbox
	idle []*lane
	all  []*lane
	link link
	ear  *ear
}

// lanes is how many pipelines may be on their way at once; with two, one is written while another is read.
const lanes = 3

// newNode starts the lanes and the ear of a node whose link is up. What is to be sent there is put into commands.
func newNode(d *Dispatcher, client rueidis.Client, commands *[gate.Ops][]gate.Command) *node {
	n := &node{d: d, client: client, out: outbox{commands: commands}}
	n.link.become(linkUp)
	n.link.probeAt = gate.Never
	n.ear = newEar(client, d.cfg.Publish, d.mail, d.cfg.Logger)
	for range lanes {
		l := newLane(n)
		n.all = append(n.all, l)
		n.idle = append(n.idle, l)
		go l.run()
	}
	return n
}

// lend takes an idle lane; nil: all are away.
func (n *node) lend() *lane {
	last := len(n.idle) - 1
	if last < 0 {
		return nil
	}
	l := n.idle[last]
	n.idle = n.idle[:last]
	return l
}

// busy reports whether an answer is on its way that can be waited for.
func (n *node) busy() bool { return len(n.idle) < len(n.all) && n.link.state == linkUp }

// alarm is when the loop is to look at the node again; a lane that comes back wakes it by itself.
func (n *node) alarm() gate.Time {
	if len(n.idle) == 0 {
		return gate.Never
	}
	return n.link.probeAt
}

// stop ends the ear and the lanes; those that are away first come back.
func (n *node) stop() {
	n.ear.close()
	for _, l := range n.all {
		close(l.work)
	}
	for _, l := range n.all {
		<-l.stopped
	}
}
