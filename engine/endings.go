package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// endings are the listeners that are told of the end of a hold. Most holds have none.
type endings struct {
	mu       sync.Mutex    // guards the rest
	done     chan struct{} // nil until Done is called
	contexts map[*binding]struct{}
	wanted   chan struct{} // nil until Wanted is called
	notified bool          // wanted is closed

	told   atomic.Bool           // PermitIDs was called
	failed atomic.Pointer[error] // why it ended, if it was NotAlive

	whole *Hold // the hold of several locks of which this is a part; nil: of none
	place int   // of the part in it

	endless    context.Context // the child of all parents that never end; nil until one is made
	endEndless *binding
}

// binding ties a context to the end of the hold, and to that of its parent.
type binding struct {
	cancel context.CancelCauseFunc
	stop   registration // of its parent's end; nil: there is none
	end    func()       // ends the context as its parent has ended; nil: likewise
}

// listeners returns the listeners. A listener joins first and then looks, under their mutex, whether the hold has ended;
// finish sets ended first and then looks for listeners. So one of the two sees the other.
func (h *Hold) listeners() *endings {
	if h.endings.Load() == nil {
		h.endings.CompareAndSwap(nil, &endings{})
	}
	return h.endings.Load()
}

// finish ends the hold, once, and has a callback worker tell the Observer. False: it had ended before.
func (h *Hold) finish(why gate.Why) bool {
	if !h.end(why) {
		return false
	}
	o := observedEndOf(h)
	o.noteEnded(h.e.clock.Now())
	o.notifySoon()
	return true
}

// end is finish without the Observer.
func (h *Hold) end(why gate.Why) bool {
	if !h.ended.CompareAndSwap(0, 1+uint32(why)) {
		return false
	}
	keptOf(&h.core).putNote(0)
	if why == gate.Lost || why == gate.TooLong || why == gate.NotAlive {
		defer h.e.losses.noteLoss(h, why) // when its contexts have ended
	}
	l := h.endings.Load()
	if l == nil {
		return true
	}
	l.mu.Lock()
	contexts, whole, place := l.contexts, l.whole, l.place
	l.contexts = nil
	if l.done != nil {
		close(l.done)
	}
	l.mu.Unlock()
	for b := range contexts {
		b.cancel(h.Err())
		if b.stop != nil { // it calls methods of the parent
			h.e.contexts.stopping.put(b.stop)
		}
	}
	if whole != nil {
		whole.composite().ended(whole, place, h)
	}
	return true
}

// closedChan is the Done of holds that had ended before Done was called.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done returns a channel that is closed when the hold ends, by Unlock or otherwise. Err then says why.
func (h *Hold) Done() <-chan struct{} {
	h = h.inner()
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.done != nil:
	case h.ended.Load() != 0:
		return closedChan
	default:
		l.done = make(chan struct{})
	}
	return l.done
}

// onEnd calls f, which must not block, with Err's answer when the hold ends, before anything is freed.
func (h *Hold) onEnd(f func(error)) {
	b := &binding{cancel: f}
	if !h.bind(b) {
		f(h.Err())
	}
}

// joins makes h a part of another hold, which is told of its end; false: it has ended.
func (h *Hold) joins(whole *Hold, place int) bool {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.ended.Load() != 0 {
		return false
	}
	l.whole, l.place = whole, place
	return true
}

// whole is the hold of several locks of which h is a part; nil: of none.
func (h *Hold) whole() *Hold {
	l := h.endings.Load()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole
}

// bind makes b a listener; false: the hold has ended.
func (h *Hold) bind(b *binding) bool {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bind(h, b)
}

// bind is Hold.bind. The caller holds l.mu.
func (e *endings) bind(h *Hold, b *binding) bool {
	if h.ended.Load() != 0 {
		return false
	}
	if e.contexts == nil {
		e.contexts = make(map[*binding]struct{})
	}
	e.contexts[b] = struct{}{}
	return true
}

// Context returns a child of parent that also ends when the hold ends. Its cause is then the hold's Err, such as
// [ErrLost], and it ends before the lock is granted again. Its Err compares clocks as [Hold.Err] does, so it is never
// nil after Deadline, even if no goroutine has had a processor yet to close its Done.
//
// A context that is in use keeps the hold from being forgotten ([Options].OnForgotten). It costs memory until parent or the hold ends. For parents that never end, a hold has only one.
func (h *Hold) Context(parent context.Context) context.Context {
	outer := h
	h = h.inner()
	if parent.Done() == nil {
		ctx, b := h.endlessContext()
		return &holdContext{Context: ctx, binding: b, h: outer, parent: parent}
	}
	b, l := &binding{}, h.listeners()
	ctx, cancel := context.WithCancelCause(parentEnd{parent, b, l})
	b.cancel = cancel
	if !h.bind(b) {
		if b.stop != nil {
			b.stop()
		}
		cancel(h.Err())
	} else if parent.Err() != nil { // then unbind may have come before bind
		l.unbind(b)
	}
	return &holdContext{Context: ctx, binding: b, h: outer, parent: parent}
}

// parentEnd is the parent of a hold's context as package context sees it, which so takes over Err and cause. The context is not a
// child of the parent itself: the loop ends it, and to leave a parent calls methods of that, which may be a user type.
type parentEnd struct {
	context.Context // the parent
	b               *binding
	l               *endings
}

// AfterFunc is called by package context in place of all that it would do with a parent. The watch that it begins ends by b.stop.
func (p parentEnd) AfterFunc(end func()) (stop func() bool) {
	p.b.end = end
	p.b.stop = context.AfterFunc(p.Context, func() {
		end()
		p.l.unbind(p.b)
	})
	return func() bool { return true }
}

// Value is the parent's when that has ended, for its cause. Before, package context must not find the parent's own context by it.
func (p parentEnd) Value(key any) any {
	select {
	case <-p.Done():
		return p.Context.Value(key)
	default:
		return nil
	}
}

// endlessContext is the context that ends with the hold and with nothing else.
func (h *Hold) endlessContext() (context.Context, *binding) {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endless == nil {
		l.endEndless = &binding{}
		l.endless, l.endEndless.cancel = context.WithCancelCause(context.Background())
		if !l.bind(h, l.endEndless) {
			l.endEndless.cancel(h.cause())
		}
	}
	return l.endless, l.endEndless
}

// holdContext is a context that ends with a hold, or with its parent. Its inner context is always one of package context.
type holdContext struct {
	context.Context
	binding *binding
	h       *Hold // the caller's: a context that is in use keeps it from being forgotten
	parent  context.Context
}

// Err is never nil after the hold's Deadline. The first end, of the hold or of the parent, decides Err and cause.
func (h *holdContext) Err() error {
	if h.Context.Err() == nil {
		switch {
		case h.binding.end != nil && h.parent.Err() != nil:
			h.binding.end()
		case h.h.Err() != nil:
			h.binding.cancel(h.h.inner().cause())
		}
	}
	return h.Context.Err()
}

// Deadline is the parent's, because the hold's moves with each renewal.
func (h *holdContext) Deadline() (time.Time, bool) { return h.parent.Deadline() }

// Value is the parent's, except for the keys by which package context finds its own contexts.
func (h *holdContext) Value(key any) any {
	switch key {
	case nearest{}:
		return h
	case parentOf{h.h.inner()}:
		if above := h.parent.Value(key); above != nil { // parent is a context of the hold, too, or derived from one
			return above
		}
		return h.parent
	}
	if own := h.Context.Value(key); own != nil {
		return own
	}
	return h.parent.Value(key)
}

// unbind forgets a binding: its parent has ended.
func (e *endings) unbind(b *binding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.contexts, b)
}

// parentOf is the key under which a context finds the parent of the hold's context that it was derived from.
type parentOf struct{ h *Hold }

// outliving returns ctx. If ctx was derived from a context of the hold, it returns the part that does not end with the
// hold: h.Unlock(ctx), called inside the work under ctx, must not end its own wait.
func outliving(ctx context.Context, h *Hold) (context.Context, context.CancelFunc) {
	parent, own := ctx.Value(parentOf{h}).(context.Context)
	if !own || ctx.Err() != nil {
		return ctx, func() {}
	}
	if at, bounded := ctx.Deadline(); bounded {
		return context.WithDeadline(parent, at)
	}
	return parent, func() {}
}
