package engine

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// mostOwner is how long an owner id may be, in bytes: Redisson's and the engine's have 38 to 75.
const mostOwner = 256

// Detach ends the hold without freeing the name. The name stays taken for lease from now on, for any caller that has the id:
// another process, or this one after a restart, goes on with [Mutex.Adopt]. Nobody renews it meanwhile; it is free when
// lease is over, or by ForceUnlock. What [WithMinHold] has left counts if it is longer. Bounds of lease are as for [WithLease].
// A failover right after Detach may forget it, also with [Options].Replicas: then the name stays taken for what the hold's own
// lease had left, and Adopt fails.
//
// The hold's contexts end, and Err is [ErrUnlocked], before anything is sent. ctx and [Options].AnswerTimeout bound the
// wait for the answer as in Unlock. The errors are:
//
//   - [ErrUncertain], [ErrRefused]: as in Unlock. The engine goes on, so the id comes with the error: Adopt tells whether
//     the name was detached.
//   - [ErrLost] or [ErrUnlocked]: the hold had ended before.
//   - [ErrInvalid]: a lease out of bounds, a hold with an Owner that has others, or a hold of anything but a Mutex, which the
//     Reader and the Writer of a RWMutex are not. The hold goes on, unless its Owner got another one in that moment: then it is unlocked.
func (h *Hold) Detach(ctx context.Context, lease time.Duration) (id string, err error) {
	defer runtime.KeepAlive(h) // until it has ended
	h = h.inner()
	if !h.kind.detachable() {
		return "", h.failed("detach", invalid("only the hold of a mutex can be detached, not one of kind %s", h.kind.text()))
	}
	if n := h.Count(); n > 1 {
		return "", h.failed("detach", invalid("its Owner has %d holds: unlock the others first", n))
	}
	if lease, err = wholeMillis(lease); err != nil {
		return "", h.failed("detach", err)
	}
	ctx, stop := outliving(ctx, h)
	defer stop()
	if err := h.leave("detach"); err != nil {
		return "", err
	}
	defer observedEndOf(h).notify()
	err = h.confirm(ctx, "detach", func(ack gate.Settler) bool { return h.e.dispatcher.Detach(&h.core, lease, ack) })
	switch {
	case errors.Is(err, ErrHeld): // another hold of its Owner was granted at this moment
		return "", h.failed("detach", invalid("its Owner has got another hold"))
	case err != nil && !errors.Is(err, ErrUnavailable):
		return "", err
	}
	return h.TenureID() + gate.DetachedSuffix, err
}

// Adopt takes the place of the owner that has the lock under that id, which Detach returned: the caller holds the lock, under
// a fresh owner id, and a fenced lock gives a new token. It also takes the place of any other owner, such as a Redisson
// client, a process that died or a hold of this engine, by the owner that [Mutex.Inspect] shows. The holder under that id loses
// the lock, and learns of it as after [Mutex.ForceUnlock]: in this engine before Adopt asks Redis, so also if Adopt then fails. Of
// several callers that adopt the same id one succeeds.
//
// Adopt asks Redis once, as TryLock does, and goes before callers that wait. Options and errors are as with TryLock, but for
// [ErrLost]: nobody has the lock under that id any more. [ErrHeld] is never returned. After [ErrUncertain] and the end of
// ctx the engine releases what the command may have taken, so the lock may then be free.
func (m *Mutex) Adopt(ctx context.Context, id string, opts ...LockOption) (*Hold, error) {
	o := m.observe(opts)
	c := m.e.calls.get()
	t := m.operation("lock")
	_, err := t.fill(ctx, 0, true, opts, &c.waiter) // what is wrong with options is told as by TryLock
	t.doing = "adopt"
	if err == nil && !m.kind.detachable() {
		err = t.failed(invalid("only a mutex can be adopted, not a %s", m.kind.noun()))
	}
	if err == nil && (id == "" || len(id) > mostOwner) {
		err = t.failed(invalid("an owner id of %d bytes: must be from 1 to %d", len(id), mostOwner))
	}
	if err != nil {
		m.e.calls.put(c)
		o.notifyDone(nil, err)
		return nil, err
	}
	c.waiter.Adopts = &id
	return t.blockForGrant(ctx, c, &o)
}
