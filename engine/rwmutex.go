package engine

import (
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/internal/gate"
)

// RWMutex is a read-write lock of one name, as Redisson's RReadWriteLock on the same name: many may hold its
// Reader at once, or one its Writer. Any goroutine may use it. Making one costs nothing and cannot fail.
//
// Readers of this process share one hold in Redis: who comes within HandoffTime of its taking joins it without
// asking Redis. Later readers ask under a second one. If others listen for the lock then, and while this process
// reads those can only be waiting writers, later readers wait until the running ones have ended, so that an
// outside writer gets in after HandoffTime and the longest running read. Writers that poll are not seen, and
// outside readers cannot be kept from overtaking: Redisson's protocol has no way to tell them that a writer waits.
//
// In this process requests are served in the order of arrival: a reader that comes after a waiting writer waits
// behind it, and readers who follow each other enter together. Only an Owner that is in already enters at once:
//
//   - A reader reads again.
//   - A writer writes again, and reads. Its reads are not seen in Redis while it writes. When its last write is
//     unlocked first, the lock becomes a read lock without being free in between, and other readers may enter.
//   - A reader that asks for the Writer would wait for itself: ErrDeadlock at once, also for what it had queued.
type RWMutex struct {
	e    *Engine
	name string
}

// RWMutex is the read-write lock of a name: 1 to 1,024 bytes, taken as they are.
func (e *Engine) RWMutex(name string) *RWMutex { return &RWMutex{e: e, name: name} }

// Name is the name as it was given, before NameMapper.
func (rw *RWMutex) Name() string { return rw.name }

// String tells the name.
func (rw *RWMutex) String() string { return "read-write lock " + quote(rw.name) }

// Format is String for every verb. Without it fmt would look into the engine.
func (rw *RWMutex) Format(f fmt.State, _ rune) { fmt.Fprint(f, rw.String()) }

// Reader is the lock for reading. Its TryLock fails while a writer of this process holds the lock or waits for it.
// Its Inspect finds it locked in read mode, or when a writer of Redisson's reads too; with several readers Owner is
// one of them, if possible of this engine.
func (rw *RWMutex) Reader() *Mutex { return &Mutex{e: rw.e, name: rw.name, kind: gate.RWKind} }

// Writer is the lock for writing, which excludes everybody but its own Owner.
func (rw *RWMutex) Writer() *Mutex {
	return &Mutex{e: rw.e, name: rw.name, kind: gate.RWKind, write: true}
}

// view is what the lock looks like to a reader or to a writer, by Redisson's rules.
func (m *Mutex) view(state State, all fields) (State, []string, error) {
	mode := all.mode()
	var owners []string
	for _, f := range all {
		if f.name == "mode" {
			continue
		}
		writer := strings.HasSuffix(f.name, gate.WriterSuffix)
		if writer == m.write && (!state.Locked || !state.Ours && m.e.number(f.name) != 0) {
			state.set(m.e, f)
		}
		if writer {
			owners = append([]string{f.name}, owners...)
		} else {
			owners = append(owners, f.name)
		}
	}
	if !state.Locked {
		return State{}, nil, nil
	}
	if (mode == "write") != m.write { // a reader's view of a writer that reads too: there is nothing to force
		owners = nil
	}
	return state, owners, nil
}
