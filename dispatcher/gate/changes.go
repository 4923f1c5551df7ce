package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Change is one call on a name without owners that does not wait in the queue: it gives permits back, counts a latch down, and the like.
type Change struct {
	Op        Op
	Args      Args
	Numbers   []uint64      // PermitFree: for each of its IDs its number when it is a permit of this engine, else 0
	LeaseTime time.Duration // PermitRenew: the shortest lease that it renews
	Ack       Settler       // may be nil
}

// ChangeCount is a change of a count, by n or to n.
func ChangeCount(op Op, n int64) Change { return Change{Op: op, Args: CountArgs{N: n}.Args()} }

// lasting reports whether the change is kept until Redis can be reached, as the release of a lock is. The others fail at once while the
// link is down: their caller can repeat them.
func (c *Change) lasting() bool { return Operations[c.Op].lasting }

// join adds another change of the same operation to c. False: it must go alone.
func (c *Command) join(other *Change) bool {
	if other.Op != c.Op || !Operations[c.Op].adds {
		return false
	}
	sum := c.Args.Count().N + other.Args.Count().N
	if sum <= maxSum {
		c.Args = CountArgs{N: sum}.Args()
	}
	return sum <= maxSum
}

// changes is a queue of changes. The first n of them are the call under way.
type changes struct {
	queue []Change
	n     int
	own   []Change // the call under way, if no caller asked for it: one change
	apart int      // so many of queue are PermitFrees that together freed nothing: they go mostHolds at a time
	brief int      // how many of those behind them are not lasting
	tries retries
}

// maxSum bounds the permits of one call: their sum must stay a whole number in Lua.
const maxSum = 1 << 51

// add puts a change at the end of the queue.
func (cs *changes) add(c Change) {
	cs.queue = append(cs.queue, c)
	if !c.lasting() {
		cs.brief++
	}
}

// underWay is the changes of the call under way; none: it is a question.
func (cs *changes) underWay() []Change {
	if cs.own != nil {
		return cs.own
	}
	return cs.queue[:cs.n]
}

// first is the first change of the call under way.
func (cs *changes) first() *Change { return &cs.underWay()[0] }

// next makes the next call, from one change or from several that do the same and add up.
func (cs *changes) next() Command {
	c := cs.queue[0].command()
	if c.Op == PermitFree {
		c.Args = cs.joinFrees()
		return c
	}
	for cs.n = 1; cs.n < len(cs.queue) && c.join(&cs.queue[cs.n]); cs.n++ {
	}
	if !cs.queue[0].lasting() {
		cs.brief -= cs.n
	}
	return c
}

// joinFrees makes one call of the PermitFrees at the head of the queue.
func (cs *changes) joinFrees() Args {
	var holds, ids []byte
	sum, most := int64(0), mostPermits
	if cs.apart > 0 {
		most = mostHolds
	}
	for cs.n = 0; cs.n < min(len(cs.queue), most) && cs.queue[cs.n].Op == PermitFree; cs.n++ {
		one := cs.queue[cs.n].Args.PermitFree()
		if cs.n > 0 && sum+one.N > mostPermits {
			break
		}
		holds, ids, sum = append(holds, one.Holds...), append(ids, one.IDs...), sum+one.N
	}
	return PermitFreeArgs{Holds: scripts.PermitHolds(holds), N: sum, IDs: scripts.PermitIDs(ids)}.Args()
}

// command is the call of a change alone.
func (c *Change) command() Command { return Command{Op: c.Op, Args: c.Args, LeaseTime: c.LeaseTime} }

// settle ends the call under way, and answers its callers. lost has a bit for each change, from the first on, whose hold was not in Redis any more.
func (cs *changes) settle(out Outcome, lost scripts.Reply) {
	done := cs.underWay()
	for i := range done {
		if out.Why == Granted && lost>>i&1 == 1 {
			settle(done[i].Ack, Outcome{Why: Lost})
		} else {
			settle(done[i].Ack, out)
		}
	}
	clear(done)
	cs.queue, cs.apart, cs.n, cs.own = cs.queue[cs.n:], max(cs.apart-cs.n, 0), 0, nil
	if len(cs.queue) == 0 {
		cs.queue = nil
	}
}

// dismiss answers and removes the changes that are not lasting. The call under way stays.
func (cs *changes) dismiss(out Outcome) {
	if cs.brief == 0 {
		return
	}
	kept := cs.queue[:cs.n]
	for _, c := range cs.queue[cs.n:] {
		if c.lasting() {
			kept = append(kept, c)
		} else {
			settle(c.Ack, out)
		}
	}
	clear(cs.queue[len(kept):])
	cs.queue, cs.brief = kept, 0
	if len(kept) == 0 {
		cs.queue = nil
	}
}

// settleAll answers the callers of all changes, under way or not.
func (cs *changes) settleAll(out Outcome) {
	if cs.own != nil {
		cs.settle(out, 0)
	}
	cs.n, cs.brief = len(cs.queue), 0
	cs.settle(out, 0)
}

// answered settles the call under way, a change that ran, or that its script refused. resent: an earlier copy got no answer. Of holds that are not
// in Redis any more, it then freed them, as of a lease (Lease.released); a call with ids, or of more than mostHolds, leaves a receipt, which says more.
func (cs *changes) answered(c *Command, resent bool) {
	together := cs.n > mostHolds
	switch {
	case c.Reply.Fault() != scripts.None:
		cs.settle(refusal(c), 0)
	case c.Op == PermitFree && together && c.Reply == 0: // nothing was freed
		cs.apart, cs.n = cs.n, 0
	case c.Op == PermitFree && (together || resent && c.Args.PermitFree().IDs == ""):
		cs.settle(Outcome{}, 0)
	case c.Op == PermitFree:
		cs.settle(Outcome{}, ^c.Reply)
	default:
		cs.settle(Outcome{N: int64(c.Reply)}, 0)
	}
}

const (
	// receiptTime is how long a call is sent again after it was first sent, by the clock of its sender (Command.LeaveBy): its receipt lies
	// in Redis for 60 s, and a copy may be on its way for LateWindow.
	receiptTime = 50 * time.Second
	// refusalTime is how long a lasting change is repeated while the server refuses it for a reason that may pass.
	refusalTime = 30 * time.Second
)
