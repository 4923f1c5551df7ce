package engine

import (
	"context"
	"sync"

	"github.com/wheellock/wheellock/internal/gate"
)

// endings is who hears of the end of a hold. Most holds have none.
type endings struct {
	mu       sync.Mutex    // guards the rest
	done     chan struct{} // nil until it is asked for
	contexts map[*binding]struct{}
}

// binding is a context that ends with the hold.
type binding struct {
	cancel context.CancelCauseFunc
	stop   func() bool // ends the watch over its parent, if there is one
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
	for b := range contexts {
		b.cancel(h.Err())
		b.stop()
	}
	return true
}

// closedChan is the Done of holds that had ended when they were asked.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done is closed when the hold ends, by Unlock or otherwise; Err then says why.
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
	b := &binding{cancel: f, stop: func() bool { return true }}
	if !h.bind(b) {
		f(h.Err())
	}
}

// bind has b hear of the end; false: it has ended.
func (h *Hold) bind(b *binding) bool {
	l := h.listeners()
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.ended.Load() != 0 {
		return false
	}
	if l.contexts == nil {
		l.contexts = make(map[*binding]struct{})
	}
	l.contexts[b] = struct{}{}
	return true
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
