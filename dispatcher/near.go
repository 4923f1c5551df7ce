package dispatcher

import (
	"container/heap"
	"slices"
	"time"

	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// nearby is the alarms of the next few ticks, met exactly by one timer for the nearest.
type nearby struct {
	timer  *time.Timer
	runs   atomic.Bool // the timer has not fired yet
	set    gate.Time   // for when the timer is set, while it runs
	alarms nearHeap
	most   int // how many alarms there may be before the stale ones are thrown out
}

const (
	// minNear is how many alarms are kept in any case.
	minNear = 64
	// minSleep is how long the loop sleeps at least for something that is due already: that must not keep it busy.
	minSleep = 100 * time.Microsecond
)

// add sets the alarm of an entry at its Due. The entry's former alarm stays in the heap, stale, until it is due; when more
// than half of the heap may be stale, it is cleared of them, so that an entry that changes its alarm all the time cannot make
// it grow without bound.
func (n *nearby) add(e *gate.Entry) {
	heap.Push(&n.alarms, nearAlarm{e.Due, e})
	if len(n.alarms) > max(n.most, minNear) {
		n.clean()
		n.most = 2 * len(n.alarms)
	}
}

// clean keeps one alarm for each entry: the one at its Due.
func (n *nearby) clean() {
	kept := make(map[*gate.Entry]bool, len(n.alarms)/2)
	n.alarms = slices.DeleteFunc(n.alarms, func(a nearAlarm) bool {
		stale := a.stale() || kept[a.entry]
		kept[a.entry] = kept[a.entry] || !stale
		return stale
	})
	heap.Init(&n.alarms)
}

// start makes the timer, which calls wake.
func (n *nearby) start(wake func()) {
	n.timer = time.AfterFunc(time.Hour, func() {
		n.runs.Store(false)
		wake()
	})
	n.timer.Stop()
}

// setTimer sets the timer for the nearest alarm, or for also when that is nearer. A timer that is set for an earlier time is
// left alone: the turn that it brings sets the timer again. Most turns move the nearest time, and setting a timer costs more than
// such a turn now and then.
func (n *nearby) setTimer(now, also gate.Time) {
	at := min(also, n.next())
	if at == gate.Never || n.runs.Load() && n.set <= at {
		return
	}
	n.set = at
	n.runs.Store(true) // before Reset: the timer may fire at once
	n.timer.Reset(max(at-now, minSleep))
}

// next is when the nearest alarm is due; Never when none is near.
func (n *nearby) next() gate.Time {
	if len(n.alarms) == 0 {
		return gate.Never
	}
	return n.alarms[0].at
}

// nearAlarm is when an entry wants to be woken.
type nearAlarm struct {
	at    gate.Time
	entry *gate.Entry
}

// stale reports whether the entry's Due has changed since.
func (n nearAlarm) stale() bool { return n.entry.Due != n.at || n.entry.Alarm.In() }

type nearHeap []nearAlarm

func (n nearHeap) Len() int           { return len(n) }
func (n nearHeap) Less(i, j int) bool { return n[i].at < n[j].at }
func (n nearHeap) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *nearHeap) Push(x any)        { *n = append(*n, x.(nearAlarm)) }
func (n *nearHeap) Pop() any {
	old := *n
	last := old[len(old)-1]
	old[len(old)-1] = nearAlarm{}
	*n = old[:len(old)-1]
	return last
}
