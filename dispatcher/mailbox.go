package dispatcher

import (
	"sync"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// event is something that the loop is told: a request of a caller, or news from a node (events.go), or a request about the whole
// dispatcher (loop.go).
type event interface {
	// deliver steps the gates with the event. The loop calls it.
	deliver(l *loop, now gate.Time)
}

// refusable is an event with a sender that waits for an answer.
type refusable interface {
	// refuse answers in place of deliver: the dispatcher has ended.
	refuse()
}

// batch is events in the order they came.
//
// Every lock takes one ask and one unlock. So these two are kept by value, in slices that serve again for later batches,
// and events points to them: telling the loop of them allocates nothing. When such a slice grows, earlier events point
// to the copy that it has left behind, which nobody changes.
type batch struct {
	events  []event
	asks    []ask
	unlocks []unlock
}

// reset empties a batch that was delivered, for the next one.
func (b *batch) reset() {
	b.events, b.asks, b.unlocks = again(b.events), again(b.asks), again(b.unlocks)
}

// mailbox is where everybody leaves events for the loop. It is not bounded: bounds apply to new lock
// requests alone, where they are made (invariant: bounds-refuse-only-new-requests). A put never blocks.
type mailbox struct {
	wake chan struct{} // capacity 1: it says "look", not how many
	turn func()        // takes a turn at once, or wakes the loop

	mu      sync.Mutex // guards the rest; held for a swap or an append, never while blocking
	queue   *batch
	refused bool // no requests for locks any more
	shut    bool // no events any more
}

func newMailbox() *mailbox {
	m := &mailbox{wake: make(chan struct{}, 1), queue: new(batch)}
	m.turn = m.wakeUp
	return m
}

// put leaves an event. False: the mailbox is shut.
func (m *mailbox) put(e event) bool { return m.putFor(m.wakeUp, e) }

// putReturned leaves a connection with its answers. Its goroutine may take the turn.
func (m *mailbox) putReturned(c *connection) { m.putFor(m.turn, returned{c}) }

func (m *mailbox) putFor(turn func(), e event) bool {
	m.mu.Lock()
	if m.shut {
		m.mu.Unlock()
		return false
	}
	m.addAndUnlock(e, turn)
	return true
}

// putAsk leaves a request. Its caller may take the turn. False: the mailbox is shut, or takes no requests any more.
func (m *mailbox) putAsk(e ask) bool {
	m.mu.Lock()
	if m.shut || m.refused {
		m.mu.Unlock()
		return false
	}
	m.queue.asks = append(m.queue.asks, e)
	m.addAndUnlock(&m.queue.asks[len(m.queue.asks)-1], m.turn)
	return true
}

// putUnlock leaves the end of a hold. Its caller may take the turn. False: the mailbox is shut.
func (m *mailbox) putUnlock(e unlock) bool {
	m.mu.Lock()
	if m.shut {
		m.mu.Unlock()
		return false
	}
	m.queue.unlocks = append(m.queue.unlocks, e)
	m.addAndUnlock(&m.queue.unlocks[len(m.queue.unlocks)-1], m.turn)
	return true
}

// addAndUnlock adds an event to the queue and unlocks mu. The sender of the first event has a turn taken.
//
// Queue first, wake second: between the two the loop may take the event and find an empty wake-up later,
// which costs a turn. The other order could wake it before there is anything to see.
func (m *mailbox) addAndUnlock(e event, turn func()) {
	m.queue.events = append(m.queue.events, e)
	first := len(m.queue.events) == 1
	m.mu.Unlock()
	if first {
		turn()
	}
}

// wakeUp wakes the loop. If the loop is awake, it looks once more before it sleeps.
func (m *mailbox) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take swaps the queue for the batch delivered last, so two batches serve for ever.
func (m *mailbox) take(spare *batch) *batch {
	spare.reset()
	m.mu.Lock()
	mail := m.queue
	m.queue = spare
	m.mu.Unlock()
	return mail
}

// refuse turns away requests from now on. Everything else is still taken.
func (m *mailbox) refuse() {
	m.mu.Lock()
	m.refused = true
	m.mu.Unlock()
}

// shutDown takes what is left and turns away everything from now on, in one step.
func (m *mailbox) shutDown() []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut = true
	return m.queue.events
}

// maxRoom is how many elements a slice may have that is kept for use after a burst.
const maxRoom = 8192

// again returns an empty slice for the same use: s itself, unless s has become very large.
func again[T any](s []T) []T {
	if len(s) == 0 {
		return s
	}
	if cap(s) > maxRoom {
		return nil
	}
	clear(s)
	return s[:0]
}
