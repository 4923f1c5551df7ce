package engine

// Wanted returns a channel that is closed when somebody else has waited for the lock since it was granted: a caller of this
// process, of another one, or a Redisson client. It is for a holder that can stop early. The waiter may have given up again.
// The channel is closed once, at most, and stays open when the hold ends.
//
// Callers of this process are seen at once. Of others Redis is asked every 250 ms, from the first call of Wanted on. Waiters for a
// [Engine.FairMutex] and engines that wait in line, as for a lock of any other kind but a [Engine.SpinMutex], are seen at once, others when the hold is
// two seconds old, because a process listens for a second after its last caller has got the lock or given up. Without a call of Wanted a hold
// costs nothing.
//
// These are taken for waiters, although they do not wait: a process that stopped, or lost its network, while it listened, until
// Redis closes its connection; an engine that died while it had a place, until the place is skipped; and a client that
// subscribes to the lock's channel by itself.
//
// These are not seen: a waiter for a [Engine.SpinMutex] in another process, another library's for a [Engine.SimpleMutex], or one that may not
// subscribe, because it polls; a waiter for permits or for a [QuorumLock]. Readers are not told of readers of their process, which are let in beside them. For a
// hold of several locks, somebody waits for one of them by itself, or as a member of a [MultiLock].
func (h *Hold) Wanted() <-chan struct{} {
	h = h.inner()
	l := h.listeners()
	l.mu.Lock()
	waits, first := l.wanted, l.wanted == nil
	if first {
		waits = make(chan struct{})
		l.wanted = waits
	}
	l.mu.Unlock()
	if !first {
		return waits
	}
	if c := h.composite(); c != nil {
		for _, part := range c.all() {
			part.Wanted()
		}
	} else {
		h.e.dispatcher.Wanted(&h.core)
	}
	return waits
}

// watched reports whether Wanted was called.
func (e *endings) watched() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.wanted != nil
}

// notifyWanted closes the channel of Wanted.
func (h *Hold) notifyWanted() {
	l := h.listeners()
	l.mu.Lock()
	whole := l.whole
	if l.wanted != nil && !l.notified {
		l.notified = true
		close(l.wanted)
	}
	l.mu.Unlock()
	if whole != nil {
		whole.notifyWanted()
	}
}

// Wanted is called by the loop when somebody else waits. It implements gate.Wanter.
func (h *held) Wanted() { (*Hold)(h).notifyWanted() }
