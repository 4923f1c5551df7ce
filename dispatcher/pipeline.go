package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
)

// maxPasses bounds how often one turn answers commands for a link that is down. The answer to one may ask for another: a
// confirmation in vain is followed by a release. What is left after so many waits for the next turn, so that a turn ends
// whatever the machines ask for.
const maxPasses = 4

// flush sends as much as the idle connections take. What is left over leaves when a connection returns; until then mail
// collects, and that is the batch.
func (n *node) flush(now gate.Time) {
	n.probe(now)
	if n.link.state != linkUp {
		if n.link.state == linkDown {
			n.bounce(now)
		}
		return
	}
	for i := len(n.idle) - 1; i >= 0; i-- {
		c := n.idle[i]
		if c.Batch = n.out.fill(c.Batch[:0], c.Class); len(c.Batch) == 0 {
			if c.Class == redisconn.AllCommands {
				return
			}
			continue
		}
		n.idle = slices.Delete(n.idle, i, i+1)
		n.carrying++
		c.Task, c.AskTime = redisconn.Carry, n.server.TimeIsStale(now)
		n.nodes.cfg.Gate.Stats.Batches.Inc()
		n.nodes.leaving = append(n.nodes.leaving, c)
	}
}

// returned steps the gates with the answers of a connection.
func (n *node) returned(c *connection) {
	cfg := n.nodes.cfg
	n.idle = append(n.idle, c)
	now := cfg.Clock.Now()
	c.TakeTime()
	switch c.Task {
	case redisconn.Probe:
		n.probed(now, c.Err)
		return
	case redisconn.Survey:
		n.nodes.cluster.surveyed(now, c)
		return
	}
	n.carrying--
	if c.Err != nil {
		n.linkBroke(now, c.Err)
	} else if len(c.Batch) > 0 {
		n.nodes.gates.measure(now - c.Batch[0].Sent)
	}
	for i := range c.Batch {
		if i%clockStride == 0 {
			now = cfg.Clock.Now()
		}
		stall.At(ClockRead, cfg.UUID)
		n.answered(now, &c.Batch[i])
	}
	clear(c.Batch)
	c.Batch = c.Batch[:0]
}

// ClockRead is the point between the loop's reading of the clock and what it does with an answer.
const ClockRead = "dispatcher: clock read, answer not handled"

// answered is a command that has come back.
func (n *node) answered(now gate.Time, c *gate.Command) {
	switch c.Result {
	case gate.Answered:
		if millis, late := c.Reply.Late(); late {
			n.server.Learn(millis, now)
		}
	case gate.Redirected:
		n.nodes.cluster.follow(now, n, c)
		return
	case gate.Again:
		if n.nodes.cluster != nil {
			n.nodes.cluster.survey.Soon(now)
		}
	}
	n.nodes.gates.answer(now, c)
}

// bounce answers what waits to be sent while the link is down: in each pass what waited when the pass began, for the
// answer to one command may ask for another.
func (n *node) bounce(now gate.Time) {
	for pass := 0; pass < maxPasses && !n.out.empty(); pass++ {
		for op := range n.out.commands {
			n.bounceOp(now, op)
		}
	}
}

func (n *node) bounceOp(now gate.Time, op int) {
	o := &n.out
	for end := len(o.commands[op]); o.heads[op] < end; {
		c := o.commands[op][o.heads[op]]
		o.heads[op]++
		c.Sent, c.Result, c.Reply = now, gate.NotSent, 0
		n.nodes.gates.answer(now, &c)
	}
	o.left(op, 0)
}
