package engine

import (
	"strings"

	"github.com/wheellock/wheellock/internal/gate"
)

// RWMutex is a read-write lock of one name, as Redisson's RReadWriteLock on the same name. Many callers may hold its
// Reader at once, or one its Writer. Any goroutine may use it. Making one costs nothing and cannot fail.
//
// Readers of this process share one owner field in Redis: a reader that arrives within HandoffTime of its grant joins
// it without asking Redis. Later readers ask under a second one. If other processes listen for the lock at that time,
// they can only be waiting writers. Later readers then wait until the running ones have ended, so that a writer of
// another process gets the lock after HandoffTime and the longest running read. Writers that poll are not seen. Readers
// of other processes can overtake a waiting writer, because Redisson's protocol has no way to tell them of it.
//
// In this process requests are served in the order of arrival. A reader that arrives after a waiting writer waits
// behind it, and consecutive readers enter together. Only an Owner that holds the lock already enters at once:
//
//   - A reader reads again.
//   - A writer writes again, and reads. Redis does not see its reads while it writes. If its last write is unlocked
//     first, the lock becomes a read lock without being free in between, and other readers may enter.
//   - A reader that asks for the Writer would wait for itself. It gets [ErrDeadlock] at once, and so do its queued
//     requests for the Writer.
type RWMutex struct{ handle }

// RWMutex returns the read-write lock of a name. Names are as in [Engine.Mutex].
func (e *Engine) RWMutex(name string) *RWMutex { return &RWMutex{handle{e, name, rwIndex}} }

// Reader returns the lock for reading. Its TryLock fails while a writer of this process holds the lock or waits for it.
// Its Inspect finds it locked in read mode, or if a writer of Redisson's also reads. With several readers, State.Owner
// is one of them, of this engine if possible.
func (rw *RWMutex) Reader() *Mutex { return &Mutex{handle{rw.e, rw.name, readIndex}} }

// Writer returns the lock for writing, which excludes all callers but its own Owner.
func (rw *RWMutex) Writer() *Mutex { return &Mutex{handle{rw.e, rw.name, writeIndex}} }

// view is what the lock looks like to a reader or to a writer, by Redisson's rules.
func (m *Mutex) view(state State, all fields) (State, []string) {
	mode := all.mode()
	var owners []string
	for _, f := range all {
		if f.name == "mode" {
			continue
		}
		writer := strings.HasSuffix(f.name, gate.WriterSuffix)
		if writer == (m.kind == writeIndex) && (!state.Locked || !state.Ours && m.e.number(f.name) != 0) {
			state.set(m.e, f)
		}
		if writer {
			owners = append([]string{f.name}, owners...)
		} else {
			owners = append(owners, f.name)
		}
	}
	if !state.Locked {
		return State{}, nil
	}
	if (mode == "write") != (m.kind == writeIndex) { // a reader's view of a writer that reads too: there is nothing to force
		owners = nil
	}
	return state, owners
}
