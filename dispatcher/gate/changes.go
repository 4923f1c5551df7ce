package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Change is one call on a name without owners that does not wait in the queue: it gives permits back, counts a latch down, and the like.
type Change struct {
	Op      Op
	Args    Args
	Numbers []uint64      // PermitFree: for each of its IDs its number when it is a permit of this engine, else 0
	Lease   time.Duration // PermitRenew: the shortest lease that it renews
	Ack     Settler       // may be nil
}

// ChangeCount is a change of a count, by n or to n.
func ChangeCount(op Op, n int64) Change { return Change{Op: op, Args: CountArgs{N: n}.Args()} }

// lasting reports whether the change is kept until Redis can be reached, as the release of a lock is. The others fail at once while the
// link is down: their caller can repeat them.
func (c *Change) lasting() bool { return Operations[c.Op].lasting }

// changes is a queue of changes. The first n of them are the call under way.
type changes struct {
	queue []Change
	n     int
	tries retries
}

// maxSum bounds the permits of one call: their sum must stay a whole number in Lua.
const maxSum = 1 << 51

// next makes the next call, from one change or from several that do the same and add up.
func (cs *changes) next() Command {
	first := cs.queue[0]
	c := Command{Op: first.Op, Args: first.Args, Lease: first.Lease}
	for cs.n = 1; Operations[first.Op].adds && cs.n < len(cs.queue) && cs.queue[cs.n].Op == first.Op; cs.n++ {
		sum := c.Args.Count().N + cs.queue[cs.n].Args.Count().N
		if sum > maxSum {
			break
		}
		c.Args = CountArgs{N: sum}.Args()
	}
	return c
}

// settle ends the call under way, and answers its callers.
func (cs *changes) settle(out Outcome) {
	done := cs.queue[:cs.n]
	for _, c := range done {
		settle(c.Ack, out)
	}
	clear(done)
	cs.queue = cs.queue[cs.n:]
	if len(cs.queue) == 0 {
		cs.queue = nil
	}
	cs.n = 0
}

// dismiss answers and removes the changes that are not lasting. The call under way stays.
func (cs *changes) dismiss(out Outcome) {
	kept := cs.queue[:cs.n]
	for _, c := range cs.queue[cs.n:] {
		if c.lasting() {
			kept = append(kept, c)
		} else {
			settle(c.Ack, out)
		}
	}
	clear(cs.queue[len(kept):])
	cs.queue = kept
	if len(kept) == 0 {
		cs.queue = nil
	}
}

// settleAll answers the callers of all changes, under way or not.
func (cs *changes) settleAll(out Outcome) {
	cs.n = len(cs.queue)
	cs.settle(out)
}

// changed is the outcome of a change that ran, or that its script refused.
func changed(c *Command) Outcome {
	fault := c.Reply.Fault()
	if fault == scripts.None && c.Op == PermitFree && c.Reply == scripts.NotMine {
		return Outcome{Why: Lost}
	}
	if fault == scripts.None {
		return Outcome{N: int64(c.Reply)}
	}
	return refusal(c)
}

const (
	// receiptTime is how long a call is sent again after it was first sent, by the clock of its sender (Command.LeaveBy): its receipt lies
	// in Redis for 60 s, and a copy may be on its way for LateWindow.
	receiptTime = 50 * time.Second
	// refusalTime is how long a lasting change is repeated while the server refuses it for a reason that may pass.
	refusalTime = 30 * time.Second
)
