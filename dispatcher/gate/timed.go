package gate

import "container/heap"

// timed is things in the order of one of the times that each has: a heap.
type timed[T interface{ moment(by int8) *moment }] struct {
	all []T
	by  int8 // which of their times
}

// moment is one time of a thing.
type moment struct {
	at Time
	in int32 // its place in the order, from 1 on; 0: it is not there
}

func (t *timed[T]) Len() int           { return len(t.all) }
func (t *timed[T]) of(i int) *moment   { return t.all[i].moment(t.by) }
func (t *timed[T]) Less(i, k int) bool { return t.of(i).at < t.of(k).at }

func (t *timed[T]) Swap(i, k int) {
	t.all[i], t.all[k] = t.all[k], t.all[i]
	t.of(i).in, t.of(k).in = int32(i+1), int32(k+1)
}

// Push and Pop are for package heap.
func (t *timed[T]) Push(x any) { t.all = append(t.all, x.(T)) }
func (t *timed[T]) Pop() any {
	last := len(t.all) - 1
	clear(t.all[last:])
	t.all = t.all[:last]
	return nil
}

// put moves x to this time.
func (t *timed[T]) put(x T, at Time) {
	m := x.moment(t.by)
	if m.at = at; m.in != 0 {
		heap.Fix(t, int(m.in-1))
		return
	}
	m.in = int32(len(t.all) + 1)
	heap.Push(t, x)
}

// drop takes x out, if it is there.
func (t *timed[T]) drop(x T) {
	if m := x.moment(t.by); m.in != 0 {
		heap.Remove(t, int(m.in-1))
		m.in = 0
	}
}

// next is the earliest time; Never: there is none.
func (t *timed[T]) next() Time {
	if len(t.all) == 0 {
		return Never
	}
	return t.of(0).at
}
