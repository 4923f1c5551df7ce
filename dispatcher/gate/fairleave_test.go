package gate

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Waiters of a fair mutex that give up together leave its queue from the front, many by one command, in whatever order they give up.
// invariant: cost-of-an-event
func TestPlacesLeaveAFairQueueFromTheFront(t *testing.T) {
	const waiters = 20 * maxLeave
	b := newBench(t, FairKind, time.Second)
	holder := b.ask(nil)
	b.run(time.Second / 10)
	all := make([]*benchUser, waiters)
	for i := range all {
		all[i] = b.ask(nil)
	}
	b.run(time.Second / 10)
	last := uint64(0)
	b.answer = func(c *Command) {
		well(c)
		if c.Op == FairLeave && len(b.sent[FairLeave]) > 1 { // the first leaves when only one has given up
			if c.ID < last {
				t.Errorf("places from %d on leave after those from %d on", c.ID, last)
			}
			last = c.ID
		}
	}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(waiters) {
		b.step(func(m Machine) { m.EndWait(b.now, &all[i].w, GaveUp, &b.fx) })
	}
	b.run(time.Second / 10)
	if n := len(b.sent[FairLeave]); n < 2 || n > waiters/maxLeave+3 {
		t.Errorf("%d commands for %d places", n, waiters)
	}
	if holder.over {
		t.Error("the holder has lost it")
	}
}
