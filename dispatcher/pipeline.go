package dispatcher

import (
	"cmp"
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel/stall"
)

// outbox has the commands that wait to be sent to one node, by operation. The outbox of a single server is the very slice into which
// the machines write: there is nothing to distribute.
type outbox struct {
	commands *[gate.Ops][]gate.Command
	heads    [gate.Ops]int // how many of commands have been sent already
}

// maxBatch is how many names one connection carries at once: its answers are seen only when all are there. With twice as
// many, 1,024 callers are two batches, and Redis and the callers wait for each other in turns.
const maxBatch = 256

// fill moves waiting commands that a connection of this class carries to a batch, renewals first (invariant: renewals-go-first).
func (o *outbox) fill(batch []gate.Command, class redisconn.Class) []gate.Command {
	for op := range o.commands {
		queue := &o.commands[op]
		take := min(len(*queue)-o.heads[op], maxBatch-len(batch))
		if take == 0 || !class.Takes(gate.Op(op)) {
			continue
		}
		from := o.heads[op]
		batch = append(batch, (*queue)[from:from+take]...)
		o.advance(op, take)
	}
	return batch
}

// advance removes n commands from the front of an operation's queue. When more were removed than wait, those that wait move to
// the front of the slice: without that, a queue that is never empty would grow for ever.
func (o *outbox) advance(op, n int) {
	o.heads[op] += n
	queue := o.commands[op]
	switch waiting := len(queue) - o.heads[op]; {
	case waiting == 0:
		o.commands[op], o.heads[op] = again(queue), 0
	case waiting < o.heads[op]:
		copy(queue, queue[o.heads[op]:])
		clear(queue[waiting:])
		o.commands[op], o.heads[op] = queue[:waiting], 0
	}
}

func (o *outbox) put(c *gate.Command) { o.commands[c.Op] = append(o.commands[c.Op], *c) }

// putAgain puts a command that surely did not run, without its answer.
func (o *outbox) putAgain(c gate.Command) {
	c.Result, c.ServerMessage, c.Reply = 0, "", 0
	o.put(&c)
}

func (o *outbox) empty() bool {
	for op := range o.commands {
		if o.heads[op] < len(o.commands[op]) {
			return false
		}
	}
	return true
}

// withdraw moves commands that must not be sent from here any more back to the machines' effects.
func (o *outbox) withdraw(fx *gate.Effects, misplaced func(*gate.Command) bool) {
	for op := range o.commands {
		waiting := o.commands[op][o.heads[op]:]
		kept := o.commands[op][:0]
		for i := range waiting {
			if c := waiting[i]; misplaced(&c) {
				c.Asking = false
				fx.Commands[op] = append(fx.Commands[op], c)
			} else {
				kept = append(kept, c)
			}
		}
		o.commands[op], o.heads[op] = kept, 0
	}
}

// maxPasses bounds how often one turn answers commands for a link that is down. The answer to one may ask for another: a
// confirmation in vain is followed by a release. What is left after so many waits for the next turn, so that a turn ends
// whatever the machines ask for.
const maxPasses = 4

// flush sends as much as the idle connections take. The rest is sent when a connection returns; the events that arrive until
// then make the next batch.
func (n *node) flush(now gate.Time) {
	n.probe(now)
	if n.link.state != linkUp {
		if n.link.state == linkDown {
			n.answerUnsent(now)
		}
		return
	}
	for i := len(n.idle) - 1; i >= 0; i-- {
		c := n.idle[i]
		if c.Class == redisconn.AllCommands && n.crowded() {
			return
		}
		if now < n.dialAt && !c.stands && n.others(c) {
			continue
		}
		if c.Batch = n.out.fill(c.Batch[:0], c.Class); len(c.Batch) == 0 {
			if c.Class == redisconn.AllCommands {
				return
			}
			continue
		}
		n.idle = slices.Delete(n.idle, i, i+1)
		n.carrying++
		n.nodes.names += len(c.Batch)
		c.Task = redisconn.Carry
		n.nodes.cfg.Gate.Stats.Batches.Inc()
		n.nodes.leaving = append(n.nodes.leaving, c)
	}
}

// returned steps the machines with the answers of a connection.
func (n *node) returned(c *connection) {
	cfg := n.nodes.cfg
	n.idle = append(n.idle, c)
	now := cfg.Clock.Now()
	n.noteNarrow()
	if c.Task != redisconn.Survey {
		n.noteStands(c, c.Err == nil && !c.Unmade)
	}
	switch c.Task {
	case redisconn.Probe:
		n.probed(now, c.Err)
		return
	case redisconn.Survey:
		n.nodes.cluster.surveyed(now, c)
		return
	}
	n.carrying--
	n.nodes.names -= len(c.Batch)
	answers := c.Batch
	switch {
	case c.Unmade && !rediserr.IsSilent(c.Err) && n.others(c):
		n.putBack(now, c.Batch)
		answers = nil
	case c.Err != nil:
		n.breakLink(now, c.Err)
	default:
		rtt := now - c.Batch[0].Sent
		n.nodes.gates.measure(rtt)
		if n.nearest == 0 || rtt < n.nearest {
			n.nearest = rtt
		}
		n.nodes.near = n.nearest < nearby
	}
	for i := range answers {
		if i%clockStride == 0 {
			now = cfg.Clock.Now()
		}
		stall.At(ClockRead, cfg.Gate.UUID)
		n.answered(now, &answers[i])
	}
	clear(c.Batch)
	c.Batch = c.Batch[:0]
}

// putBack has the connections that stand carry a batch, since the network connection for it could not be made: a name server is away, say, or Redis
// has no room for another client, or takes another password now. That says nothing of the connections that stand.
func (n *node) putBack(now gate.Time, batch []gate.Command) {
	n.dialAt = now + dialRest
	n.unmade.Failed(n.nodes.cfg.Logger, "wheellock: one more connection to Redis cannot be made", n.where("error", batch[0].ServerMessage)...)
	for _, command := range batch {
		n.out.putAgain(command)
	}
}

// ClockRead is the point between the loop's reading of the clock and what it does with an answer.
const ClockRead = "dispatcher: clock read, answer not handled"

// answered handles a command with its answer.
func (n *node) answered(now gate.Time, c *gate.Command) {
	switch c.Result {
	case gate.Answered:
		if millis, late := c.Reply.Late(); late {
			n.server.Learn(millis, now)
		}
		fault := c.Reply.Fault()
		n.noteWrites(c, fault)
		if fault == scripts.ReadOnly {
			n.demoted(now)
		}
	case gate.Redirected:
		n.nodes.cluster.follow(now, n, c)
		return
	case gate.Again:
		n.noteWrites(c, rediserr.StopsWrites(c.ServerMessage))
		if n.nodes.cluster != nil {
			n.nodes.cluster.survey.Request(now)
		}
	}
	n.nodes.gates.answer(now, c)
}

// noteWrites logs that the node refuses writes, for the reason f, and that it takes them again: waiting callers are told nothing meanwhile.
func (n *node) noteWrites(c *gate.Command, f scripts.Fault) {
	switch {
	case f.StopsWrites():
		n.stopped = f
		n.unwritten.Failed(n.nodes.cfg.Logger, "wheellock: Redis refuses writes", n.where("error", cmp.Or(c.ServerMessage, f.String()))...)
	case n.stopped != scripts.None && c.Writes(n.stopped):
		n.stopped = scripts.None
		n.unwritten.Ended(n.nodes.cfg.Logger, "wheellock: Redis takes writes again", n.where()...)
	}
}

// answerUnsent answers NotSent to the commands that wait while the link is down. A pass answers the commands that waited when it began;
// an answer may make a machine ask for another command, which the next pass answers.
func (n *node) answerUnsent(now gate.Time) {
	for pass := 0; pass < maxPasses && !n.out.empty(); pass++ {
		for op := range n.out.commands {
			n.answerUnsentOp(now, op)
		}
	}
}

func (n *node) answerUnsentOp(now gate.Time, op int) {
	o := &n.out
	for end := len(o.commands[op]); o.heads[op] < end; {
		c := o.commands[op][o.heads[op]]
		o.heads[op]++
		c.Sent, c.Result, c.Reply, c.ServerMessage = now, gate.NotSent, 0, n.link.cause
		n.nodes.gates.answer(now, &c)
	}
	o.advance(op, 0)
}
