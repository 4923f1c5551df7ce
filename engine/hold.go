package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic" // the types of go.uber.org/atomic are aligned as pointers: a Hold would be larger
	"time"

	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/stall"
)

// Hold is one grant of a lock. Any goroutine may use it. A Hold that is dropped without Unlock stays held:
// nothing is released because the garbage collector ran; Options.MaxHold bounds it.
type Hold struct {
	core    gate.Hold
	e       *Engine
	name    string
	permits int32         // how many it has; 0: it is a lock's
	ended   atomic.Uint32 // 0 while held, else 1 + a gate.Why; set once

	endings atomic.Pointer[endings] // nil until somebody wants to hear of the end
}

func newHold(e *Engine, name string) *Hold {
	h := &Hold{e: e, name: name}
	h.core.By = (*held)(h)
	return h
}

// Unlock gives the lock back. Nil: it is released, handed on to the next waiter, or one re-entry is undone.
// ErrLost: it had ended before; ErrUnlocked: this Hold was unlocked already.
//
// The release is sent also when ctx has ended; ctx bounds only the wait for its answer, and the error then
// Is ErrUncertain and the context's. Without a deadline in ctx it waits for Options.AnswerTimeout, and the error then Is
// ErrUncertain; the engine goes on releasing until the lease has run out. Unlock is never refused by bounds and does
// not block past Deadline.
// It ends the hold's contexts before anything is sent.
func (h *Hold) Unlock(ctx context.Context) error {
	ctx, stop := h.outliving(ctx)
	defer stop()
	if err := h.leave(); err != nil {
		return err
	}
	if c := h.composite(); c != nil {
		return c.unlock(ctx)
	}
	return h.e.confirm(ctx, "unlock", h.name, errClosedHold, func(ack gate.Settler) bool { return h.e.dispatcher.Unlock(&h.core, ack) })
}

// UnlockAsync is Unlock without blocking. The future is settled by the answer, or at Deadline: a future that waits costs no
// goroutine, so that AnswerTimeout does not end it.
func (h *Hold) UnlockAsync() *futures.Future[struct{}] {
	if err := h.leave(); err != nil {
		return futures.Settled(&h.e.callbacks, struct{}{}, err)
	}
	if c := h.composite(); c != nil {
		return c.unlockAsync()
	}
	a := &acknowledgement{name: h.name}
	a.promise.Init(&h.e.callbacks, nil)
	if !h.e.dispatcher.Unlock(&h.core, a) {
		a.promise.Settle(struct{}{}, &opError{doing: "unlock", name: h.name, err: errClosedHold})
	}
	return a.promise.Future()
}

// leave ends the hold by its holder's wish. An error: it had ended before.
func (h *Hold) leave() error {
	if h.over(false) { // what the release finds in Redis tells of a suspension
		h.lose()
	}
	stall.At("hold: not over, not ended", h.e.uuid)
	if !h.finish(gate.Unlocked) {
		return &opError{doing: "unlock", name: h.name, err: h.cause()}
	}
	return nil
}

// lose ends a hold whose time is over, whoever finds that out first: its holder by a look at the clock, or the loop (End).
// The compare-and-swap in finish decides between them, and loss is final: a renewal that is answered afterwards changes
// nothing, for the loop is told to release what it may have prolonged. Without that, this would leak a lock for ever:
//
//  1. The loop reads the clock and is paused before it handles the answer to a renewal.
//  2. The deadline passes. The holder finds its hold over, and goes.
//  3. The loop goes on with the old time, takes the renewal for good, and renews for nobody.
func (h *Hold) lose() {
	if !h.finish(gate.Lost) {
		return
	}
	if c := h.composite(); c != nil {
		giveBack(c.all())
		return
	}
	stall.At("hold: lost, loop not told", h.e.uuid)
	h.e.dispatcher.Unlock(&h.core, nil)
}

// held is a Hold as the loop sees it: users can end one by Unlock only.
type held Hold

// End is the loop's word that the hold has ended. It implements gate.Ender.
func (h *held) End(why gate.Why) { (*Hold)(h).finish(why) }

// over reports whether the clock says that the hold has ended; suspended: after a look for suspension.
func (h *Hold) over(suspended bool) bool {
	if c := h.composite(); c != nil {
		return c.alive() < c.need
	}
	now := h.e.clock.Now
	if suspended {
		now = h.e.clock.Checked
	}
	return now() >= h.core.Deadline()
}

// composite is what a hold of several locks is made of; nil for a hold of one.
func (h *Hold) composite() *composite {
	c, _ := h.core.By.(*composite)
	return c
}

// Err is nil while the lock is held; then ErrUnlocked, ErrLost, ErrMaxHold, or ErrLost and ErrClosed. It
// compares clocks and asks nobody: it is never nil after Deadline, and once it is not nil it never is again.
func (h *Hold) Err() error {
	if h.ended.Load() == 0 {
		if !h.over(true) {
			return nil
		}
		h.lose()
	}
	return h.cause()
}

// cause is why the hold has ended.
func (h *Hold) cause() error {
	why := gate.Why(h.ended.Load() - 1)
	if why == gate.Closed {
		return errClosedHold
	}
	return sentinels[why]
}

// Deadline is when the hold ends unless it is renewed: counted from the moment the command that took or
// renewed it was sent, less a margin of 1 % of the lease, at least 5 ms.
func (h *Hold) Deadline() time.Time {
	if c := h.composite(); c != nil {
		return c.deadline()
	}
	return h.e.clock.Time(h.core.Deadline())
}

// Extend makes a hold with a fixed lease last until lease from now, never shorter than it would. ErrInvalid
// for a hold that the watchdog renews.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	if c := h.composite(); c != nil {
		return c.extend(ctx, lease)
	}
	if h.core.Watched() {
		return &opError{doing: "extend", name: h.name, err: invalid("the watchdog renews this hold: only a hold WithLease can be extended")}
	}
	lease, err := wholeMillis(lease)
	if err != nil {
		return &opError{doing: "extend", name: h.name, err: err}
	}
	if err := h.Err(); err != nil {
		return &opError{doing: "extend", name: h.name, err: err}
	}
	stall.At("hold: not over, not extended", h.e.uuid)
	return h.e.confirm(ctx, "extend", h.name, errClosedHold, func(ack gate.Settler) bool { return h.e.dispatcher.Extend(&h.core, lease, ack) })
}

// Token is the fencing token; false unless the lock is fenced. A hold of several locks has none: ask its parts'
// stores by locks of their own.
func (h *Hold) Token() (int64, bool) { return h.core.Token, h.core.Token != 0 }

// Name is the lock's.
func (h *Hold) Name() string { return h.name }

// Count is how many holds its Owner has on this lock at the moment; 0 when it has none any more.
func (h *Hold) Count() int {
	n := h.core.Count()
	if n == 0 && h.ended.Load() == 0 { // alone
		return 1
	}
	return n
}

// String tells name and owner.
func (h *Hold) String() string { return "hold of " + quote(h.name) + " by " + h.TenureID() }

// Format is String for every verb. Without it fmt would look into what other goroutines write.
func (h *Hold) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// TenureID is the owner field in Redis, "<uuid>:<number>"; of a RWMutex's writer with ":write" behind; of a hold of
// several locks, those of its parts with commas between.
func (h *Hold) TenureID() string {
	if c := h.composite(); c != nil {
		return c.tenureID()
	}
	id := wire.AppendOwner(nil, h.e.uuid, h.core.Tenure)
	if h.core.Write() {
		id = append(id, gate.WriterSuffix...)
	}
	return string(id)
}

// number reads the number of a tenure of this engine out of an owner field; 0: it is not one of ours.
func (e *Engine) number(owner string) uint64 {
	digits, ours := strings.CutPrefix(strings.TrimSuffix(owner, gate.WriterSuffix), e.uuid+":")
	if !ours {
		return 0
	}
	var n uint64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
