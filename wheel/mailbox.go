package wheel

import "sync"

// mailbox carries values from any goroutine to the one that takes them. Putting never blocks; the bound is
// that a sender has only so much to say: one event for an alarm, one order for a slot.
type mailbox[T any] struct {
	wake chan struct{} // capacity 1: it says "look", not how many

	mu    sync.Mutex // guards the rest; held for a swap or an append
	queue []T
	shut  bool
}

func newMailbox[T any]() *mailbox[T] {
	return &mailbox[T]{wake: make(chan struct{}, 1)}
}

// put appends first and wakes second, so whoever takes after the wake-up finds the event. A shut mailbox
// drops it.
func (m *mailbox[T]) put(letter T) {
	m.mu.Lock()
	if !m.shut {
		m.queue = append(m.queue, letter)
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take swaps the queue for the batch read last, so two slices serve for ever.
func (m *mailbox[T]) take(spare []T) (letters []T) {
	clear(spare)
	m.mu.Lock()
	defer m.mu.Unlock()
	letters, m.queue = m.queue, spare[:0]
	return letters
}

// close drops what is queued and all that is put later.
func (m *mailbox[T]) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut, m.queue = true, nil
}
