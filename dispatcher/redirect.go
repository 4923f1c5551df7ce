package dispatcher

import (
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/internal/gate"
)

// maxHops is how often a command is sent on before its gate hears that it did not run: nodes that disagree may send it
// back and forth.
const maxHops = 4

// follow sends a command, which surely did not run, to the node that from has named. The command stays the name's one
// command in flight (rule 11), and its machine sees nothing of the redirect.
func (d *Dispatcher) follow(now gate.Time, from *node, c *gate.Command) {
	r, ok := topology.ReadRedirect(c.ServerMessage, from.addr)
	if !ok || c.Hops >= maxHops {
		c.Result = gate.Again
		d.cluster.survey.Soon(now)
		d.answer(now, c)
		return
	}
	var to *node
	if r.Ask { // once: the slot is still from's
		to = d.nodeAt(now, r.Addr)
	} else {
		to = d.learn(now, r)
	}
	to.usedAt = now
	sent := *c
	sent.Hops, sent.Asking = c.Hops+1, r.Ask
	sent.Result, sent.ServerMessage, sent.Epoch = 0, "", d.cfg.Gate.Epoch
	to.out.put(&sent)
}

// learn notes who serves a hash slot, as a node that does not serve it has said.
func (d *Dispatcher) learn(now gate.Time, r topology.Redirect) *node {
	n := d.nodeAt(now, r.Addr)
	d.cluster.slots.Give(r.Slot, n)
	d.cluster.survey.Soon(now) // where one has moved, others may have
	return n
}

// reroute finds another node for a channel. Its node does not serve the channel, as message says, or has ended the
// subscription by itself, and message is empty.
func (d *Dispatcher) reroute(now gate.Time, channel string, r route, message string) {
	move, moved := topology.ReadRedirect(message, r.node.addr)
	if moved && !move.Ask {
		d.learn(now, move)
	}
	r.hops++
	to := d.home(r.entries[0].Slot)
	if r.hops > maxHops || message != "" && !moved {
		to, d.cluster.unrouted = nil, true // until the next survey
		d.cluster.survey.Soon(now)
	}
	r.tune(channel, to)
	d.heard[channel] = r
}
