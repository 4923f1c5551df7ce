package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/scripts"
)

// mostNote is how long a note may be, in bytes; noteTime is for how long a call that has failed asks for that of the holder.
const (
	mostNote = 256
	noteTime = 50 * time.Millisecond
)

// WithNote has the hold say what it is for, such as a request or a job: in [State].Note, in wheellock ls and show, and in the [HeldError] of a
// call of Lock or TryLock that has a note itself, which asks for the holder's when it fails, for at most 50 ms. text is printable UTF-8 of at
// most 256 bytes, otherwise the call fails with [ErrInvalid]; an empty text is no note. It is for a Mutex of any kind and for locks of
// several, whose members each have it. Permits, and names without owners, are ErrInvalid.
//
// The note is a key of its own, under the owner id: it is written after the grant, for which Lock and TryLock wait up to 50 ms, and with each
// renewal, for as long as the lease, and deleted when the hold ends. It never shows for another owner. Holds with one owner id, such as readers of a process, have one note: the last
// that was written. If Redis refuses it, the hold has none and is as good. Default: no note.
func WithNote(text string) LockOption { return LockOption{which: noteOption, note: text} }

// checkNote checks the text of a note.
func checkNote(text string) error {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar } // which stands for what is no UTF-8
	if len(text) > mostNote || strings.ContainsFunc(text, odd) {
		return invalid("a note of %d bytes, %s: must be printable UTF-8 of at most %d", len(text), quote(text), mostNote)
	}
	return nil
}

// notes sends what is to be written and deleted, in order.
type notes struct {
	sending sync.WaitGroup

	mu     sync.Mutex // guards the rest
	due    []rueidis.Completed
	sent   chan struct{} // closed when what is due has been sent; nil: nothing is due
	sends  bool          // a goroutine does
	closed bool
}

// putNote has k's note written for lease, or deleted if that is 0. It does not block: the loop calls it. What it returns is closed when that is
// done; nil: it is not to be done.
func (k *keptHold) putNote(lease time.Duration) (sent <-chan struct{}) {
	if k == nil || k.note == "" {
		return nil
	}
	n := &k.e.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || lease > 0 && k.ended.Load() != 0 {
		return nil
	}
	if n.due = append(n.due, k.write(lease)); n.sent == nil {
		n.sent = make(chan struct{})
	}
	if !n.sends {
		n.sends = true
		n.sending.Go(func() { n.send(k.e.client) })
	}
	return n.sent
}

// write is the command that writes the note, or deletes it.
func (k *keptHold) write(lease time.Duration) rueidis.Completed {
	b, key := k.e.client.B(), scripts.NoteKey(k.key, k.TenureID())
	if lease == 0 {
		return b.Del().Key(key).Build()
	}
	return b.Set().Key(key).Value(k.note).Px(lease).Build()
}

func (n *notes) send(c rueidis.Client) {
	for {
		n.mu.Lock()
		due, sent := n.due, n.sent
		n.due, n.sent, n.sends = nil, nil, len(due) > 0
		n.mu.Unlock()
		if len(due) == 0 {
			return
		}
		c.DoMulti(context.Background(), due...)
		close(sent)
	}
}

// close gives what is still to be sent a moment.
func (n *notes) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	soon, stop := context.WithTimeout(context.Background(), noteTime)
	defer stop()
	await(soon, func() (none struct{}, _ error) { n.sending.Wait(); return none, nil }, func(struct{}) {})
}

// noteOf returns the note of an owner of the lock; empty: it has none.
func (m *Mutex) noteOf(ctx context.Context, owner string) (text string) {
	t := m.operation("inspect")
	if key, err := t.key(); err == nil && len(owner) <= mostOwner {
		text, _ = direct(ctx, &t, func(c rueidis.Client) (string, error) {
			return c.Do(context.Background(), c.B().Get().Key(scripts.NoteKey(key, owner)).Build()).ToString()
		})
	}
	if checkNote(text) != nil {
		text = ""
	}
	return text
}

// answered has the note of a hold that was granted written before its call returns, or adds that of the holder to the error. The note is written in
// its turn: if the lock was handed on, the one before it is still to be deleted, under the same key.
func (k *keptHold) answered(lease time.Duration, err error) {
	if k == nil || k.note == "" { // before what would be allocated for every call
		return
	}
	held, over := (*HeldError)(nil), (*unmet)(nil)
	if err != nil && !(k.asks && errors.As(err, &held)) {
		return
	}
	soon, stop := context.WithTimeout(context.Background(), noteTime)
	defer stop()
	if err == nil {
		if sent := k.putNote(lease); sent != nil {
			select {
			case <-sent:
			case <-soon.Done():
			}
		}
		return
	}
	m := &Mutex{handle{k.e, k.name, k.kind}}
	if state, _, failed := m.inspect(soon, false); failed == nil && state.Locked {
		held.Note = m.noteOf(soon, state.Owner)
	}
	if errors.As(err, &over) {
		over.words = held.words()
	}
}
