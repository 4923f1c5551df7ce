package gate

import (
	"container/heap"
	"time"
)

// timeline is what is going to happen, in order of time; what was planned first comes first at the same time.
type timeline struct {
	events eventHeap
	count  int
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

func (l *timeline) plan(at time.Duration, do func()) {
	l.count++
	heap.Push(&l.events, event{at, l.count, do})
}

// next takes the next event out; false: nothing is going to happen.
func (l *timeline) next() (event, bool) {
	if len(l.events) == 0 {
		return event{}, false
	}
	return heap.Pop(&l.events).(event), true
}

type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}

func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
