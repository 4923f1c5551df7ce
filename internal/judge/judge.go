// Package judge states what locks promise, once: holds that exclude each other (judge.go), and over a history that fencing tokens grow,
// that turns come in the order of arrival, and that no name is free while somebody waits for it (history.go).
//
// It knows no engine, no fault and no clock. A harness makes a Call of what it saw; a rule yields what is against it; the harness
// excuses what its own faults explain.
package judge

import (
	"cmp"
	"sync/atomic"
	"time"
)

// Time is a reading of the one clock of a history, in nanoseconds. 0: it never came.
type Time int64

// Call is a call for a name and what came of it.
type Call struct {
	Owner                    any   // holds of one owner stand beside each other; nil: of nobody else's
	Shared                   bool  // beside others that are
	Permits                  int64 // of a semaphore
	Tried                    bool  // it asked once and did not wait
	Asked, Answered, Granted Time
	Until                    Time // its holder believes in it until then
	Free                     Time // from then on it surely was over
	Token                    int64
}

const (
	// Stranded is how long a name may be free while somebody waits, and nothing is broken.
	Stranded = 1500 * time.Millisecond
	// InLine is how long a call for a fair lock may take until it stands in the queue, by a link that works.
	InLine = 500 * time.Millisecond
)

// Judged is what a harness keeps of a call.
type Judged interface {
	comparable
	Judged() Call
}

// Whole is the room of a name, and the weight of who excludes everybody else. More readers, of weight 1, than that there never are.
const Whole = 1 << 40

func (c *Call) weight(permits int64) int64 {
	switch {
	case permits > 0:
		return c.Permits
	case c.Shared:
		return 1
	default:
		return Whole
	}
}

// Excludes reports whether there is no room for a hold beside others of its name, which has so many permits; 0: it is no semaphore.
func Excludes[C Judged](permits int64, c C, others ...C) bool {
	one := c.Judged()
	weight := one.weight(permits)
	for _, o := range others {
		if other := o.Judged(); one.Owner == nil || other.Owner != one.Owner {
			weight += other.weight(permits)
		}
	}
	return weight > cmp.Or(permits, Whole)
}

// Inside is the weight of those who are inside of a name, for callers who come and go.
type Inside struct{ weight atomic.Int64 }

// Enter is called with a hold in hands. It reports whether there was room.
func (i *Inside) Enter(room, weight int64) bool { return i.weight.Add(weight) <= room }

// Leave is called before the hold is given back.
func (i *Inside) Leave(weight int64) { i.weight.Add(-weight) }
