package dispatcher

import (
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/internal/gate"
)

// outbox is what waits to be sent to one node, by operation. The outbox of a single server is the very slice into which
// the machines write: there is nothing to distribute.
type outbox struct {
	commands *[gate.Ops][]gate.Command
	heads    [gate.Ops]int // how much of commands has left already
}

// maxBatch is how many names one connection carries at once: its answers are seen only when all are there. With twice as
// many, 1,024 callers are two batches, and Redis and the callers wait for each other in turns.
const maxBatch = 256

// fill moves waiting commands that a connection of this class carries to a batch, renewals first (rule 15).
func (o *outbox) fill(batch []gate.Command, class redisconn.Class) []gate.Command {
	for op := range o.commands {
		queue := &o.commands[op]
		take := min(len(*queue)-o.heads[op], maxBatch-len(batch))
		if take == 0 || !class.Takes(gate.Op(op)) {
			continue
		}
		from := o.heads[op]
		batch = append(batch, (*queue)[from:from+take]...)
		o.left(op, take)
	}
	return batch
}

// left notes that so many commands of an operation have left. When more have left than wait, those that wait move to
// the front: a queue that is never empty would grow for ever.
func (o *outbox) left(op, n int) {
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

// maxRoom is how many elements a slice may have that is kept for use after a burst.
const maxRoom = 8192

// again returns an empty slice for the same use: s itself, unless s has become very large.
func again[T any](s []T) []T {
	if len(s) == 0 {
		return s
	}
	if cap(s) > maxRoom {
		return nil
	}
	clear(s)
	return s[:0]
}

func (o *outbox) put(c *gate.Command) { o.commands[c.Op] = append(o.commands[c.Op], *c) }

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
		clear(o.commands[op][len(kept):])
		o.commands[op], o.heads[op] = kept, 0
	}
}
