package engine

import (
	"sync/atomic"

	"github.com/wheellock/wheellock/internal/gate"
)

// observedHold is a Hold whose end an Observer is told of, and what is to be told, in one allocation.
type observedHold struct {
	Hold
	told observedEnd
}

func newObservedHold(e *Engine, name string, kind kindIndex) *Hold {
	o := &observedHold{Hold: Hold{e: e, name: name, kind: kind}}
	o.core.By, o.told.hold = o, &o.Hold
	return &o.Hold
}

// End is called by the loop when the hold has ended. It implements gate.Ender.
func (o *observedHold) End(why gate.Why) { o.finish(why) }

// observedEnd is the end of a hold, for the Observer, and the task that tells of it. Two things come first, in any order: that
// Granted was told, and that the hold has ended. Whoever is the second tells. The part of a MultiLock has no Granted, so
// nobody tells of its end.
type observedEnd struct {
	hold    *Hold
	granted gate.Time
	ended   gate.Time
	first   atomic.Bool // one of the two was there
}

// observedEndOf returns what the Observer is to be told of the end of the hold; nil: nobody observes it.
func observedEndOf(h *Hold) *observedEnd {
	switch by := h.core.By.(type) {
	case *observedHold:
		return &by.told
	case *composite:
		if h.e.observesEnds() {
			return &by.told
		}
	}
	return nil
}

func (e *Engine) observesEnds() bool { return e.opts.Observer != nil && e.opts.Observer.Ended != nil }

// wasGranted is called when Granted was told.
func (o *observedEnd) wasGranted(at gate.Time) {
	if o != nil {
		o.granted = at
		o.tell()
	}
}

// hasEnded notes when the hold has ended. tell or tellSoon is called next.
func (o *observedEnd) hasEnded(at gate.Time) {
	if o != nil {
		o.ended = at
	}
}

// tell tells of the end on this goroutine, tellSoon on a callback worker.
func (o *observedEnd) tell() {
	if o != nil && o.first.Swap(true) {
		o.Run()
	}
}

func (o *observedEnd) tellSoon() {
	if o != nil && o.first.Swap(true) {
		o.hold.e.callbacks.Go(o)
	}
}

// Run tells of the end. It implements futures.Task.
func (o *observedEnd) Run() {
	h := o.hold
	h.e.tell(func() { h.e.opts.Observer.Ended(End{h.name, h.kind.text(), max(o.ended-o.granted, 0), h.cause()}) })
}
