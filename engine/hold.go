package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/gate"
)

// Hold is one grant of a lock. Any goroutine may use it. A Hold that is dropped without Unlock stays held:
// nothing is released because the garbage collector ran; Options.MaxHold bounds it.
type Hold struct {
	core  gate.Hold
	e     *Engine
	name  string
	ended atomic.Uint32 // 0 while held, else 1 + a gate.Why; set once
	fixed bool

	permits int32 // how many it has; 0: it is a lock's

	mu      sync.Mutex // guards endings
	endings *endings   // nil until somebody wants to hear of the end
}

func newHold(e *Engine, name string, fixed bool) *Hold {
	h := &Hold{e: e, name: name, fixed: fixed}
	h.core.By = (*held)(h)
	return h
}

// endings is who hears of the end of a hold.
type endings struct {
	done     chan struct{}
	contexts map[*binding]struct{}
}

// binding is a context that ends with the hold.
type binding struct {
	cancel context.CancelCauseFunc
	stop   func() bool // ends the watch over its parent, if there is one
}

// Unlock gives the lock back. Nil: it is released, handed on to the next waiter, or one re-entry is undone.
// ErrLost: it had ended before; ErrUnlocked: this Hold was unlocked already.
//
// The release is sent also when ctx has ended; ctx bounds only the wait for its answer, and the error then
// Is ErrUncertain and the context's. Unlock is never refused by bounds and does not block past Deadline.
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

// UnlockAsync is Unlock without blocking.
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
	if h.over() {
		h.finish(gate.Lost) // the loop finds out in this moment too, and releases
	}
	if !h.finish(gate.Unlocked) {
		return &opError{doing: "unlock", name: h.name, err: h.Err()}
	}
	return nil
}

// held is a Hold as the loop sees it: users can end one by Unlock only.
type held Hold

// End is the loop's word that the hold has ended. It implements gate.Ender.
func (h *held) End(why gate.Why) { (*Hold)(h).finish(why) }

// finish ends the hold, once. False: it had ended before.
func (h *Hold) finish(why gate.Why) bool {
	if !h.ended.CompareAndSwap(0, 1+uint32(why)) {
		return false
	}
	h.mu.Lock()
	endings := h.endings
	h.endings = nil
	h.mu.Unlock()
	if endings == nil {
		return true
	}
	if endings.done != nil {
		close(endings.done)
	}
	for b := range endings.contexts {
		b.cancel(h.Err())
		b.stop()
	}
	return true
}

// closedChan is the Done of holds that had ended when they were asked.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done is closed when the hold ends, by Unlock or otherwise; Err then says why.
func (h *Hold) Done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Load() != 0 && (h.endings == nil || h.endings.done == nil) {
		return closedChan
	}
	if h.endings == nil {
		h.endings = &endings{}
	}
	if h.endings.done == nil {
		h.endings.done = make(chan struct{})
	}
	return h.endings.done
}

// over reports whether the clock says that the hold has ended.
func (h *Hold) over() bool {
	if c := h.composite(); c != nil {
		return c.alive() < c.need
	}
	return h.e.clock.Now() >= h.core.Deadline()
}

// composite is what a hold of several locks is made of; nil for a hold of one.
func (h *Hold) composite() *composite {
	c, _ := h.core.By.(*composite)
	return c
}

// onEnd calls f, which must not block, with Err's answer when the hold ends, before anything is freed.
func (h *Hold) onEnd(f func(error)) {
	b := &binding{cancel: f, stop: func() bool { return true }}
	if !h.bind(b) {
		f(h.Err())
	}
}

// bind has b hear of the end; false: it has ended.
func (h *Hold) bind(b *binding) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Load() != 0 {
		return false
	}
	if h.endings == nil {
		h.endings = &endings{}
	}
	if h.endings.contexts == nil {
		h.endings.contexts = make(map[*binding]struct{})
	}
	h.endings.contexts[b] = struct{}{}
	return true
}

// Err is nil while the lock is held; then ErrUnlocked, ErrLost, ErrMaxHold, or ErrLost and ErrClosed. It
// compares clocks and asks nobody: it is never nil after Deadline.
func (h *Hold) Err() error {
	switch ended := h.ended.Load(); {
	case ended == 0:
		if h.over() {
			return ErrLost
		}
		return nil
	case gate.Why(ended-1) == gate.Closed:
		return errClosedHold
	default:
		return sentinels[gate.Why(ended-1)]
	}
}

// Context is parent, ending too when the hold ends, with Err's answer as its cause: ErrLost before anybody
// else can have the lock.
func (h *Hold) Context(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, parentOf{h}, parent))
	b := &binding{cancel: cancel}
	b.stop = context.AfterFunc(parent, func() { h.unbind(b) })
	if !h.bind(b) {
		b.stop()
		cancel(h.Err())
	}
	return ctx
}

// parentOf is where a context finds the parent of the hold's context that it comes from.
type parentOf struct{ h *Hold }

// outliving is ctx, or, when that comes from the hold's own contexts, what of it does not end with the hold:
// h.Unlock(ctx) inside the work that ctx was made for must not end its own waiting.
func (h *Hold) outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	parent, own := ctx.Value(parentOf{h}).(context.Context)
	if !own || ctx.Err() != nil {
		return ctx, func() {}
	}
	if at, bounded := ctx.Deadline(); bounded {
		return context.WithDeadline(parent, at)
	}
	return parent, func() {}
}

func (h *Hold) unbind(b *binding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.endings != nil {
		delete(h.endings.contexts, b)
	}
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
	if !h.fixed {
		return &opError{doing: "extend", name: h.name, err: invalid("the watchdog renews this hold: only a hold WithLease can be extended")}
	}
	lease, err := wholeMillis(lease)
	if err != nil {
		return &opError{doing: "extend", name: h.name, err: err}
	}
	if err := h.Err(); err != nil {
		return &opError{doing: "extend", name: h.name, err: err}
	}
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
	id := dispatcher.AppendOwner(nil, h.e.uuid, h.core.Tenure)
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
