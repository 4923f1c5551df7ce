package wire

import (
	"cmp"
	"slices"

	"github.com/wheellock/wheellock/internal/gate"
)

// Call is one EVALSHA: the commands From..To of a batch, all of one operation, and in a cluster of one hash slot.
type Call struct {
	Op       gate.Op
	From, To int
	Asking   bool // ASKING goes before it
}

// Commands is how many commands of Redis it takes.
func (c Call) Commands() int {
	if c.Asking {
		return 2
	}
	return 1
}

// maxNames is how many names one EVALSHA takes: about a quarter of a millisecond of the server's time.
const maxNames = 128

// Cut divides a batch, which is ordered by operation, into calls, and appends them to calls. In a cluster it orders the
// batch by hash slot besides. A command that comes with ASKING goes alone: of many keys some might not be there yet.
func Cut(calls []Call, batch []gate.Command, cluster bool) []Call {
	if cluster {
		slices.SortFunc(batch, func(a, b gate.Command) int {
			return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Entry.Slot, b.Entry.Slot))
		})
	}
	for from := 0; from < len(batch); {
		first, to := &batch[from], from+1
		for to < len(batch) && to-from < maxNames && batch[to].Op == first.Op && batch[to].Entry.Slot == first.Entry.Slot && !first.Asking && !batch[to].Asking {
			to++
		}
		calls = append(calls, Call{first.Op, from, to, first.Asking})
		from = to
	}
	return calls
}

// Split appends a call for each command of c. None of them goes with ASKING: a call that does has one command.
func (c Call) Split(calls []Call) []Call {
	for at := c.From; at < c.To; at++ {
		calls = append(calls, Call{Op: c.Op, From: at, To: at + 1})
	}
	return calls
}
