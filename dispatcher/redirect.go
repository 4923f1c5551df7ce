package dispatcher

import "github.com/wheellock/wheellock/internal/gate"

// maxHops is how often a command is sent on before its gate hears that it did not run: nodes that disagree send it
// to and fro.
const maxHops = 4

// follow sends a command, which surely did not run, to the node that from has named. It is the name's one command in
// flight all the while (rule 11); its machine sees nothing of it.
func (d *Dispatcher) follow(now gate.Time, from *node, c *gate.Command) {
	r, ok := readRedirect(c.ServerMessage, from.addr)
	if !ok || c.Hops >= maxHops {
		c.Result = gate.Again
		d.cluster.survey.soon(now)
		d.answer(now, c)
		return
	}
	var to *node
	if r.ask { // once: the slot is still from's
		to = d.nodeAt(now, r.addr)
	} else {
		to = d.learn(now, r)
	}
	to.usedAt = now
	sent := *c
	sent.Hops, sent.Asking = c.Hops+1, r.ask
	sent.Result, sent.ServerMessage, sent.Epoch = 0, "", d.cfg.Gate.Epoch
	to.out.put(&sent)
}

// learn notes who serves a hash slot, as a node has said that did not.
func (d *Dispatcher) learn(now gate.Time, r redirect) *node {
	n := d.nodeAt(now, r.addr)
	d.cluster.give(r.slot, n)
	d.cluster.survey.soon(now) // where one has moved, others may have
	return n
}

// redirected is a channel that its node does not serve, or not any more: the event's text. ref says in whose words, or
// nothing when the node has ended the subscription by itself.
func (d *Dispatcher) redirected(now gate.Time, l *event) {
	r, ok := d.heard[l.text]
	if !ok || r.node == nil || r.node.id != l.n {
		return
	}
	words := l.ref.(string)
	move, moved := readRedirect(words, r.node.addr)
	if moved && !move.ask {
		d.learn(now, move)
	}
	r.hops++
	to := d.home(r.entries[0].Slot)
	if r.hops > maxHops || words != "" && !moved {
		to, d.cluster.unrouted = nil, true // until the next survey
		d.cluster.survey.soon(now)
	}
	r.tune(l.text, to)
	d.heard[l.text] = r
}
