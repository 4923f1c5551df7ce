package engine

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
)

type step func()

func (s step) run() { s() }

// Tasks that come during others, or after one that ended the goroutine, or after all were done, run in order.
// invariant: loop-never-waits
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b backlog[step]
		var ran []int
		note := func(n int) step { return func() { ran = append(ran, n) } }
		b.put(note(0))
		b.put(func() {
			b.put(note(3))
			note(1)()
			runtime.Goexit()
		})
		b.put(note(2))
		synctest.Wait()
		b.put(note(4))
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(ran, want) {
			t.Errorf("ran %v, want %v", ran, want)
		}
	})
}

// A queue keeps its order and gives room back, also when it is never empty.
func TestQueue(t *testing.T) {
	const waiting, turns = 10, 10 * queueRoom
	var q queue[int]
	next := 0
	for pushed := range turns {
		q.push(pushed)
		if pushed < waiting {
			continue
		}
		if got := q.pop(); got != next {
			t.Fatalf("popped %v, want %d", got, next)
		}
		next++
	}
	if room := cap(q.waiting); room > 4*queueRoom {
		t.Errorf("room for %d though never more than %d waited", room, waiting+1)
	}
	for range 10 * queueRoom {
		q.push(0)
	}
	for !q.empty() {
		q.pop()
	}
	if room := cap(q.waiting); room > queueRoom {
		t.Errorf("an empty queue has room for %d", room)
	}
}
