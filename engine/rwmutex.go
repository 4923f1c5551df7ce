package engine

// RWMutex is a read-write lock of one name, as Redisson's RReadWriteLock on the same name. Many callers may hold its
// Reader at once, or one its Writer. Any goroutine may use it. Making one costs nothing and cannot fail.
//
// Readers of this process share one owner field in Redis: a reader that arrives within HandoffTime of its grant joins
// it without asking Redis. For later readers Redis is asked whether it stands. Engines that wait stand in line, and while others read, no reader of an
// engine passes a writer that stands there. So a writer of another process gets the lock after HandoffTime and the longest running read.
//
// Clients of Redisson have no place in line. If others listen for the lock while readers have it, they may be waiting writers of Redisson's,
// so later readers of all engines make a pause for them at the same times. Writers that poll are not seen. Redisson's readers can overtake a waiting
// writer, because its protocol has no way to tell them of it.
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
func (r *RWMutex) Reader() *Mutex { return &Mutex{handle{r.e, r.name, readIndex}} }

// Writer returns the lock for writing, which excludes all callers but its own Owner.
func (r *RWMutex) Writer() *Mutex { return &Mutex{handle{r.e, r.name, writeIndex}} }
