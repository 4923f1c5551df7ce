package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic" // the types of go.uber.org/atomic are aligned as pointers: a Hold would be larger
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/wheel/stall"
)

// Hold is one grant of a lock. Any goroutine may use it.
//
// A Hold that is dropped without Unlock stays held: nothing is released because the garbage collector ran, unless [Options].OnForgotten says so.
// MaxHold bounds how long, and [Stats].OldestHold finds such a hold.
type Hold struct {
	core    gate.Hold
	e       *Engine
	name    string
	permits int16 // how many permits it has; 0: it is the hold of a lock
	kind    kindIndex
	ended   atomic.Uint32 // 0 while held, else 1 + a gate.Why; set once

	endings atomic.Pointer[endings] // nil until there is a listener
}

func newHold(e *Engine, name string, kind kindIndex) *Hold {
	if e.observesEnds() {
		return newObservedHold(e, name, kind)
	}
	h := &Hold{e: e, name: name, kind: kind}
	h.core.By = (*held)(h)
	return h
}

// Unlock gives the lock back. It ends the hold's contexts before anything is sent. Nil means that the lock is released,
// that it was handed to the next waiter, or that one re-entry is undone.
//
// The release is sent even if ctx has ended; ctx bounds only the wait for the answer. If ctx has no deadline, Unlock
// waits for [Options].AnswerTimeout. Unlock never blocks past Deadline, and no bound refuses it. The errors are:
//
//   - [ErrUncertain], with the context's error if ctx ended: the answer did not come in time.
//   - [ErrRefused]: the server refused the release, for instance because the user lacks a right.
//   - [ErrLost]: the hold had ended before. If the engine was closed, the error also Is [ErrClosed].
//   - [ErrUnlocked]: this Hold was unlocked before.
//
// After the first two the caller has nothing to do: the engine goes on releasing until the lease has run out.
func (h *Hold) Unlock(ctx context.Context) error {
	defer runtime.KeepAlive(h) // until it has ended
	h = h.inner()
	ctx, stop := outliving(ctx, h)
	defer stop()
	if err := h.leave("unlock"); err != nil {
		return err
	}
	defer observedEndOf(h).notify()
	if c := h.composite(); c != nil {
		return c.unlock(ctx)
	}
	return h.confirm(ctx, "unlock", func(ack gate.Settler) bool { return h.e.dispatcher.Unlock(&h.core, ack) })
}

// confirm is operation.confirm for the hold.
func (h *Hold) confirm(ctx context.Context, doing string, send func(gate.Settler) bool) error {
	t := operation{e: h.e, name: h.name, doing: doing}
	_, err := t.confirm(ctx, errClosedHold, send)
	return err
}

func (h *Hold) failed(doing string, err error) error {
	return &opError{doing: doing, name: h.name, err: err}
}

// UnlockAsync is Unlock without blocking. The answer settles the future, or the hold's Deadline does. AnswerTimeout
// does not apply, because a waiting future costs no goroutine. Cancel does not undo the release.
func (h *Hold) UnlockAsync() *futures.Future[struct{}] {
	defer runtime.KeepAlive(h)
	h = h.inner()
	if err := h.leave("unlock"); err != nil {
		return futures.Settled(&h.e.callbacks, struct{}{}, err)
	}
	defer observedEndOf(h).notifySoon()
	if c := h.composite(); c != nil {
		return c.unlockAsync()
	}
	a := &acknowledgement{name: h.name}
	a.promise.Init(&h.e.callbacks, nil)
	if !h.e.dispatcher.Unlock(&h.core, a) {
		a.promise.Settle(struct{}{}, h.failed("unlock", errClosedHold))
	}
	return a.promise.Future()
}

// acknowledgement is the future answer to an UnlockAsync.
type acknowledgement struct {
	promise futures.Promise[struct{}]
	name    string
}

// Settle implements gate.Settler.
func (a *acknowledgement) Settle(out gate.Outcome) bool {
	return a.promise.Settle(struct{}{}, closedOr("unlock", a.name, out, errClosedHold))
}

// leave ends the hold because its holder did doing; the caller has the Observer told. An error means that it had ended before.
func (h *Hold) leave(doing string) error {
	now := h.e.clock.Now()
	if h.over(now) { // after a suspension the release finds out in Redis
		h.lose(overdue(h))
	}
	stall.At("hold: not over, not ended", h.e.uuid)
	if !h.end(gate.Unlocked) {
		return h.failed(doing, h.cause())
	}
	observedEndOf(h).noteEnded(now)
	return nil
}

// lose ends a hold when its time is over (invariant: loss-is-final), or its check says so. Its holder may find that first, by a look at the clock, or
// the loop (End); the compare-and-swap in finish decides between them. A renewal that is answered afterwards changes nothing,
// because lose tells the loop to release what the renewal may have prolonged. Without that, a lock would leak for ever:
//
//  1. The loop reads the clock and is paused before it handles the answer to a renewal.
//  2. The deadline passes. The holder sees that its hold is over, and stops.
//  3. The loop goes on with its old reading, accepts the renewal, and renews a lock that nobody holds.
func (h *Hold) lose(why gate.Why) {
	if !h.finish(why) {
		return
	}
	if why == gate.NotAlive { // else the loop counts it
		h.e.dispatcher.Stats().Lost.Inc()
	}
	if c := h.composite(); c != nil {
		giveBack(c.close())
		return
	}
	stall.At("hold: lost, loop not told", h.e.uuid)
	h.e.dispatcher.Unlock(&h.core, nil)
}

// overdue is why a hold is over after its Deadline: by MaxHold, if that set the Deadline. One of several locks says what its parts say.
func overdue(h *Hold) gate.Why {
	if c := h.composite(); c != nil {
		return c.overdue()
	}
	if most := h.e.opts.MaxHold; most > 0 && h.core.Watched() && h.core.Deadline() >= h.core.Since()+most {
		return gate.TooLong
	}
	return gate.Lost
}

// held is a Hold as the loop sees it: users can end one by Unlock only.
type held Hold

// End is called by the loop when the hold has ended. It implements gate.Ender.
func (h *held) End(why gate.Why) { (*Hold)(h).finish(why) }

// over reports whether the hold has ended by the clock, which says now.
func (h *Hold) over(now gate.Time) bool {
	if c := h.composite(); c != nil {
		return c.alive() < c.need
	}
	return now >= h.core.Deadline()
}

// composite returns the parts of a hold of several locks; nil for a hold of one.
func (h *Hold) composite() *composite {
	c, _ := h.core.By.(*composite)
	return c
}

// Err returns nil while the lock is held. Afterwards it returns [ErrUnlocked], [ErrLost], [ErrMaxHold], or an error
// that Is both ErrLost and [ErrClosed]. It compares clocks and asks nobody. After Deadline it is never nil, and an
// error never becomes nil again.
func (h *Hold) Err() error {
	h = h.inner()
	if h.ended.Load() == 0 {
		if !h.over(h.e.clock.Checked()) {
			return nil
		}
		h.lose(overdue(h))
	}
	return h.cause()
}

// cause returns why the hold has ended.
func (h *Hold) cause() error {
	why := gate.Why(h.ended.Load() - 1)
	switch why {
	case gate.Closed:
		return errClosedHold
	case gate.NotAlive:
		return *h.listeners().failed.Load()
	}
	return sentinels[why]
}

// Deadline returns when the hold ends unless it is renewed. It counts from the moment at which the command that took or
// renewed the lock was sent, less a margin of 1 % of the lease, at least 5 ms.
//
// A lock that the release of another engine has given to a waiting caller has ten seconds at most until it is renewed
// for the first time, 50 ms later.
func (h *Hold) Deadline() time.Time {
	h = h.inner()
	if c := h.composite(); c != nil {
		return c.deadline()
	}
	return h.e.clock.Time(h.core.Deadline())
}

// Extend makes a hold with a fixed lease last until lease from now, and never shorter than it would have lasted. Bounds
// of lease are as for [WithLease]. ctx and [Options].AnswerTimeout bound the wait for the answer as in Unlock. The
// errors are:
//
//   - [ErrInvalid]: the watchdog renews this hold, or lease is out of bounds.
//   - [ErrLost] or [ErrUnlocked]: the hold has ended.
//   - [ErrUncertain]: the answer did not come in time. Deadline says what is sure.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	h = h.inner()
	if h.core.Watched() {
		return h.failed("extend", invalid("the watchdog renews this hold: only a hold WithLease can be extended"))
	}
	lease, err := wholeMillis(lease)
	if err == nil {
		err = h.Err()
	}
	if err != nil {
		return h.failed("extend", err)
	}
	if c := h.composite(); c != nil {
		return c.extend(ctx, lease)
	}
	stall.At("hold: not over, not extended", h.e.uuid)
	err = h.confirm(ctx, "extend", func(ack gate.Settler) bool { return h.e.dispatcher.Extend(&h.core, lease, ack) })
	if err == nil {
		keptOf(&h.core).putNote(lease)
	}
	return err
}

// Token returns the fencing token. False means that the lock is not fenced. A hold of several locks has no token.
func (h *Hold) Token() (int64, bool) {
	h = h.inner()
	return h.core.Token, h.core.Token != 0
}

// Name returns the name of the lock as it was given.
func (h *Hold) Name() string { return h.inner().name }

// Count returns how many holds the hold's Owner has on this lock now; 0 if it has none any more.
func (h *Hold) Count() int {
	h = h.inner()
	n := h.core.Count()
	if n == 0 && h.ended.Load() == 0 { // alone
		return 1
	}
	return n
}

// Parts returns how many parts the hold has now, and how many it may have: of a [QuorumLock] on how many of its servers it
// stands, of a [MultiLock] how many of its locks it has, and 1 of 1 for any other. A hold that has ended has none.
func (h *Hold) Parts() (held, all int) {
	h = h.inner()
	held, all = 1, 1
	if c := h.composite(); c != nil {
		held, all = c.alive(), len(c.parts)
	}
	if h.Err() != nil {
		held = 0
	}
	return held, all
}

// String names the lock and the owner.
func (h *Hold) String() string { return "hold of " + quote(h.Name()) + " by " + h.TenureID() }

// Format is String for every verb. Without it fmt would look into what other goroutines write.
func (h *Hold) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// MarshalText is String, for JSON and others.
func (h *Hold) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// LogValue is the name, the kind and the owner, for slog; with them the token of a fenced lock.
func (h *Hold) LogValue() slog.Value {
	h = h.inner()
	attrs := []slog.Attr{slog.String("name", h.name), slog.String("kind", string(h.kind.text())), slog.String("owner", h.TenureID())}
	if token, fenced := h.Token(); fenced {
		attrs = append(attrs, slog.Int64("token", token))
	}
	return slog.GroupValue(attrs...)
}

// TenureID returns the owner field in Redis, "<uuid>:<number>". For the writer of a RWMutex ":write" follows, for a [SimpleMutex] 26 random
// letters and digits behind a colon. For a
// hold of several locks, it returns the fields of the parts that it has, with commas between.
func (h *Hold) TenureID() string {
	h = h.inner()
	if c := h.composite(); c != nil {
		return c.tenureID()
	}
	id := h.kind.machine().AppendOwner(nil, h.e.uuid, h.e.salt, h.core.Tenure)
	if h.core.Write() {
		id = append(id, gate.WriterSuffix...)
	}
	return string(id)
}
