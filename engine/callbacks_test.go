package engine

import "testing"

type numbered int

func (numbered) Run() {}

// The line of callbacks keeps its order and gives room back, also when it is never empty.
func TestQueueOfCallbacks(t *testing.T) {
	const waiting, turns = 10, 10 * callbackQueueRoom
	var l callbackQueue
	next := 0
	for pushed := range turns {
		l.push(numbered(pushed))
		if pushed < waiting {
			continue
		}
		if got := l.pop(); got != numbered(next) {
			t.Fatalf("popped %v, want %d", got, next)
		}
		next++
	}
	if room := cap(l.waiting); room > 4*callbackQueueRoom {
		t.Errorf("room for %d though never more than %d waited", room, waiting+1)
	}
	for range 10 * callbackQueueRoom {
		l.push(numbered(0))
	}
	for l.pop() != nil {
	}
	if room := cap(l.waiting); room > callbackQueueRoom {
		t.Errorf("an empty line has room for %d", room)
	}
}
