package dispatcher

import (
	"sync"

	"github.com/wheellock/wheellock/internal/gate"
)

// eventKind says what an event brings.
type eventKind uint8

const (
	ask               eventKind = iota // ref *gate.Waiter, text name, n gate.Kind
	abandon                            // ref *gate.Waiter
	unlock                             // ref *gate.Hold, ack
	extend                             // ref *gate.Hold, ack, n lease
	change                             // text name, ref changing, ack in it
	force                              // text name, n gate.Kind, ref forced, ack
	returned                           // ref *connection: its batch has been answered
	message                            // ref *subscriber: it has heard messages
	subscribed                         // ref []string channels, text the server's refusal or empty, n the node
	channelRedirected                  // text channel, ref the node's words, n the node
	subscriberBroke                    // the connection for messages of a cluster's node broke
	suspect                            // text name
	suspectNode                        // text address
	alarm                              // n tick
	oldestQuery                        // ref chan gate.Time
	drain                              // ref chan struct{}
	switched                           // ref *node: another server is its master
	closing
)

// event is one event for the loop.
type event struct {
	ref  any
	ack  gate.Settler
	text string
	n    int64
	kind eventKind
}

type changeRequest struct {
	kind   gate.Kind
	change gate.Change
}

type forceRequest struct {
	owner string
	id    uint64
}

// mailbox is where everybody leaves events for the loop. It is not bounded: bounds apply to new lock
// requests alone, where they are made (rule 16). A put never blocks.
type mailbox struct {
	wake chan struct{} // capacity 1: it says "look", not how many

	mu      sync.Mutex // guards the rest; held for a swap or an append, never while blocking
	queue   []event
	refused bool // no requests for locks any more
	shut    bool // no events any more
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// put leaves an event. False: the mailbox is shut, or the event is a request and none are taken.
//
// Queue first, wake second: between the two the loop may take the event and find an empty wake-up later,
// which costs a turn. The other order could wake it before there is anything to see.
func (m *mailbox) put(l event) bool {
	m.mu.Lock()
	if m.shut || m.refused && l.kind == ask {
		m.mu.Unlock()
		return false
	}
	m.queue = append(m.queue, l)
	first := len(m.queue) == 1
	m.mu.Unlock()
	if first { // whoever made the queue non-empty has woken the loop, or is about to
		m.wakeUp()
	}
	return true
}

// wakeUp wakes the loop, or leaves word that it is to look again.
func (m *mailbox) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take swaps the queue for the events read last, so two slices serve for ever.
func (m *mailbox) take(spare []event) []event {
	spare = again(spare)
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
	mail := m.queue
	m.queue = nil
	return mail
}
