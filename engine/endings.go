package engine

import (
	"context"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// endings is who hears of the end of a hold. Most holds have none.
type endings struct {
	mu       sync.Mutex    // guards the rest
	done     chan struct{} // nil until it is asked for
	contexts map[*binding]struct{}

	endless    context.Context // that of all parents that never end; nil until it is asked for
	endEndless context.CancelCauseFunc
}

// binding is a context that ends with the hold.
type binding struct {
	cancel context.CancelCauseFunc
	stop   func() bool // ends the watch over its parent; nil: there is none
}

// listeners are those who hear of the end. Whoever joins them looks afterwards, under their mutex, whether the hold has
// ended: finish says so first and looks for them then, so that one of the two sees the other.
func (h *Hold) listeners() *endings {
	if h.endings.Load() == nil {
		h.endings.CompareAndSwap(nil, &endings{})
	}
	return h.endings.Load()
}

// finish ends the hold, once. False: it had ended before.
func (h *Hold) finish(why gate.Why) bool {
	if !h.ended.CompareAndSwap(0, 1+uint32(why)) {
		return false
	}
	l := h.endings.Load()
	if l == nil {
		return true
	}
	l.mu.Lock()
	contexts := l.contexts
	l.contexts = nil
	if l.done != nil {
		close(l.done)
	}
	l.mu.Unlock()
	var stops []func() bool
	for b := range contexts {
		b.cancel(h.Err())
		if b.stop != nil {
			stops = append(stops, b.stop)
		}
	}
	if len(stops) > 0 { // they call methods of the parents, which may be of types of the user's; this may be the loop
		go func() {
			for _, stop := range stops {
				stop()
			}
		}()
	}
	return true
}

// closedChan is the Done of holds that had ended when they were asked.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done returns a channel that is closed when the hold ends, by Unlock or otherwise. Err then says why.
func (h *Hold) Done() <-chan struct{} {
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

// bind has b hear of the end; false: it has ended.
func (h *Hold) bind(b *binding) bool {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bind(h, b)
}

// bind is Hold.bind for who has l.mu.
func (l *endings) bind(h *Hold, b *binding) bool {
	if h.ended.Load() != 0 {
		return false
	}
	if l.contexts == nil {
		l.contexts = make(map[*binding]struct{})
	}
	l.contexts[b] = struct{}{}
	return true
}

// Context returns a child of parent that also ends when the hold ends. Its cause is then the hold's Err, such as
// [ErrLost], and it ends before the lock is granted again. Its Err compares clocks as [Hold.Err] does, so it is never
// nil after Deadline, even if no goroutine has had a processor yet to close its Done.
//
// The context costs memory until parent or the hold ends. For parents that never end, a hold has only one.
func (h *Hold) Context(parent context.Context) context.Context {
	if parent.Done() == nil {
		ctx, cancel := h.endlessContext()
		return &holdContext{Context: ctx, cancel: cancel, h: h, parent: parent}
	}
	// Not a child of parent: to end it would call methods of parent, which may be of a type of the user's, and it is the
	// loop that ends it.
	ctx, cancel := context.WithCancelCause(context.Background())
	b := &binding{cancel: cancel}
	b.stop = context.AfterFunc(parent, func() {
		cancel(context.Cause(parent))
		h.unbind(b)
	})
	if !h.bind(b) {
		b.stop()
		cancel(h.Err())
	} else if parent.Err() != nil { // then unbind may have come before bind
		h.unbind(b)
	}
	return &holdContext{Context: ctx, cancel: cancel, h: h, parent: parent}
}

// endlessContext is the context that ends with the hold and with nothing else.
func (h *Hold) endlessContext() (context.Context, context.CancelCauseFunc) {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endless == nil {
		l.endless, l.endEndless = context.WithCancelCause(context.Background())
		if !l.bind(h, &binding{cancel: l.endEndless}) {
			l.endEndless(h.cause())
		}
	}
	return l.endless, l.endEndless
}

// holdContext is a context that ends with a hold, or with its parent. The context in it is of package context alone.
type holdContext struct {
	context.Context
	cancel context.CancelCauseFunc
	h      *Hold
	parent context.Context
}

// Err is never nil after the hold's Deadline. What has ended the context first decides its Err and its cause.
func (c *holdContext) Err() error {
	if c.Context.Err() == nil {
		switch {
		case c.parent.Err() != nil:
			c.cancel(context.Cause(c.parent))
		case c.h.Err() != nil:
			c.cancel(c.h.cause())
		default:
			return nil
		}
	}
	if c.h.ended.Load() != 0 && context.Cause(c.Context) == c.h.cause() {
		return context.Canceled
	}
	return c.parent.Err()
}

// Deadline is parent's: that of the hold moves.
func (c *holdContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Value is parent's, but for what package context finds its own contexts by.
func (c *holdContext) Value(key any) any {
	if key == (parentOf{c.h}) {
		return c.parent
	}
	if own := c.Context.Value(key); own != nil {
		return own
	}
	return c.parent.Value(key)
}

// unbind forgets a binding whose parent has ended.
func (h *Hold) unbind(b *binding) {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.contexts, b)
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
