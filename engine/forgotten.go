package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// OnForgotten says what becomes of a hold that was forgotten: see [Options].OnForgotten.
type OnForgotten uint8

// What becomes of it.
const (
	IgnoreForgotten  OnForgotten = iota // it stays held, and nobody is told
	TellForgotten                       // it stays held; the log, Stats.Forgotten and Observer.Forgotten tell of it
	ReleaseForgotten                    // they tell of it, and it is unlocked
)

// String names it.
func (o OnForgotten) String() string {
	names := [...]string{"ignore", "tell", "release"}
	if int(o) >= len(names) {
		return fmt.Sprintf("OnForgotten(%d)", o)
	}
	return names[o]
}

// Forgotten is a hold that was forgotten: see [Options].OnForgotten.
type Forgotten struct {
	Name  string // as it was given
	Kind  Kind
	Held  time.Duration // since the grant
	Where string        // the call that asked for the lock, also if it was an asynchronous one: "file:line", the first that is not of this package
}

// inside is a Hold as core.By of the outer Hold has it. With OnForgotten the caller gets an outer Hold, which nothing of the engine refers to, so the
// garbage collector finds that it was dropped. All else is in the inner one, and each method of Hold begins with inner.
type inside Hold

// End implements gate.Ender; no loop knows of outer Holds.
func (*inside) End(gate.Why) {}

// inner returns the Hold that the engine knows: h itself, unless h is an outer one.
func (h *Hold) inner() *Hold {
	if in, outer := h.core.By.(*inside); outer {
		return (*Hold)(in)
	}
	return h
}

// dropping is whether the outer Hold was dropped.
type dropping struct {
	state atomic.Uint32 // inUse, dropped or told
	calls [6]uintptr    // that led to the lock: the last of this package, and the first before them
}

const (
	inUse   uint32 = iota
	dropped        // the cleanup sets it, and does no more: it runs outside of the bubble of a synctest
	told           // the loop sets it, at a renewal
)

// watchDropping begins to watch a hold that a call asks for, on the goroutine of the call; nil: it is not to be watched.
func (e *Engine) watchDropping(part bool) *dropping {
	if part || e.opts.OnForgotten == IgnoreForgotten {
		return nil
	}
	d := &dropping{}
	runtime.Callers(3, d.calls[:])
	return d
}

// dropping returns that of an inner hold; nil: it is not watched, or h is nil.
func (h *Hold) dropping() *dropping {
	if h == nil {
		return nil
	}
	switch by := h.core.By.(type) {
	case *keptHold:
		return by.dropping
	case *composite:
		return by.dropping
	}
	return nil
}

// handOut returns what the caller gets: h itself, or an outer Hold if h is watched.
func (h *Hold) handOut() *Hold {
	d := h.dropping()
	if d == nil {
		return h
	}
	outer := &Hold{}
	outer.core.By = (*inside)(h)
	runtime.AddCleanup(outer, func(d *dropping) { d.state.Store(dropped) }, d)
	return outer
}

// noteForgotten has it told if the hold of which k is, or is a part, was dropped. It does not block: the loop calls it, before a renewal.
func (k *keptHold) noteForgotten() {
	for h := &k.Hold; h != nil; h = h.whole() {
		if d := h.dropping(); d != nil && d.state.CompareAndSwap(dropped, told) {
			h.e.callbacks.Go(&forgotten{h, d})
		}
	}
}

// forgotten is a hold that was forgotten, and the task that tells of it.
type forgotten struct {
	h *Hold
	d *dropping
}

// Run implements futures.Task.
func (f *forgotten) Run() {
	h, e := f.h, f.h.e
	if h.ended.Load() != 0 || h.toldIDs() { // by its ids it can still be released
		return
	}
	t := Forgotten{h.name, h.kind.text(), e.clock.Now() - h.since(), f.d.where()}
	e.forgotten.Inc()
	e.forgets.noteForgotten(&t)
	if e.opts.OnForgotten == ReleaseForgotten { // before the Observer, which may wait for this lock
		h.UnlockAsync()
	}
	if by := e.opts.Observer; by != nil && by.Forgotten != nil {
		e.notify(func() { by.Forgotten(t) })
	}
}

// ownFunctions begins the names of functions of this package.
var ownFunctions = reflect.TypeFor[Hold]().PkgPath() + "."

// where is the first call that is not of this package.
func (d *dropping) where() string {
	frames := runtime.CallersFrames(d.calls[:])
	for {
		frame, more := frames.Next()
		if !more || !strings.HasPrefix(frame.Function, ownFunctions) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
	}
}
