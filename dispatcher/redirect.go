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
func (c *cluster) follow(now gate.Time, from *node, command *gate.Command) {
	r, ok := topology.ReadRedirect(command.ServerMessage, from.addr)
	if !ok || command.Hops >= maxHops {
		command.Result = gate.Again
		c.survey.Soon(now)
		c.nodes.gates.answer(now, command)
		return
	}
	var to *node
	if r.Ask { // once: the slot is still from's
		to = c.nodeAt(now, r.Addr)
	} else {
		to = c.learn(now, r)
	}
	to.usedAt = now
	sent := *command
	sent.Hops, sent.Asking = command.Hops+1, r.Ask
	sent.Result, sent.ServerMessage, sent.Epoch = 0, "", c.nodes.gates.cfg.Epoch
	to.out.put(&sent)
}

// learn notes who serves a hash slot, as a node that does not serve it has said.
func (c *cluster) learn(now gate.Time, r topology.Redirect) *node {
	n := c.nodeAt(now, r.Addr)
	c.slots.Give(r.Slot, n)
	c.survey.Soon(now) // where one has moved, others may have
	return n
}

// reroute finds another node for a channel. Its node does not serve the channel, as message says, or has ended the
// subscription by itself, and message is empty.
func (c *cluster) reroute(now gate.Time, channel string, r route, message string) {
	move, moved := topology.ReadRedirect(message, r.node.addr)
	if moved && !move.Ask {
		c.learn(now, move)
	}
	r.hops++
	to := c.slots.Serves(r.entries[0].Slot)
	if r.hops > maxHops || message != "" && !moved {
		to, c.nodes.routes.unrouted = nil, true // until the next survey
		c.survey.Soon(now)
	}
	r.tune(channel, to)
	c.nodes.routes.heard[channel] = r
}
