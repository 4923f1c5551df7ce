package engine

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// WithAlive has check asked whenever the watchdog renews the hold, every third of its lease, so that a holder that hangs does not keep the
// lock. An error ends the hold, as MaxHold does: its contexts end, the lock is released, and [Hold.Err] Is [ErrLost] and the error. So does a
// panic, with a [futures.PanicError], and runtime.Goexit, with [futures.ErrGoexit].
//
// check runs on a goroutine of its own and delays nobody. It is not asked again before it has returned. If it has not when two thirds of the
// lease are over, the hold ends, with a text that says so: a lease after the grant, or after it was asked for the last time that it
// returned. Locks of several ask once for all members, as do holds that were taken with the same value of the option; a part that a
// QuorumLock gets late does not ask. A nil check, a call WithLease, which nobody renews, and one that gives no hold are [ErrInvalid].
// Default: nobody is asked.
func WithAlive(check func() error) LockOption {
	return LockOption{which: aliveOption, alive: &liveness{check: check}}
}

// liveness asks whether holders are alive.
type liveness struct {
	check func() error

	mu    sync.Mutex // guards the rest
	asked time.Time  // when, if it has not returned; else zero
}

// keptHold is a Hold with what it has of WithNote, WithAlive and Options.OnForgotten. Others have no field for it.
type keptHold struct {
	observedHold
	key   string // of the lock: its entry may serve another name when the hold has ended
	note  string // "": none
	asks  bool   // an error of its call is to name the note of the holder
	alive *liveness

	dropping *dropping // nil: it is not watched
}

// keep makes the hold of a request of n permits, if it needs more than an ordinary one has. The goroutine of the call runs it.
func (d *demand) keep(o *operation, n int64) *gate.Hold {
	watched := o.e.opts.OnForgotten != IgnoreForgotten && o.kind.holds() // a part, too, for the whole
	if d.note == "" && d.alive == nil && !watched {
		return nil
	}
	k := &keptHold{note: d.note, asks: d.note != "" && !d.part, alive: d.alive, dropping: o.e.watchDropping(d.part)}
	k.Hold = Hold{e: o.e, name: o.name, kind: o.kind, permits: int16(n)}
	k.core.By, k.ending.hold = k, &k.Hold
	if d.note != "" {
		k.key, _ = o.key() // send reports the error
	}
	return &k.core
}

// keptOf returns the hold that keep has made; nil: it is an ordinary one, or none.
func keptOf(h *gate.Hold) *keptHold {
	if h == nil {
		return nil
	}
	k, _ := h.By.(*keptHold)
	return k
}

// NotifyRenewal has a forgotten hold told, writes the note again and asks whether the holder is alive. If the answer is overdue, the hold ends.
// The loop calls it. It implements gate.Renewer.
func (k *keptHold) NotifyRenewal() {
	k.noteForgotten()
	lease, l := k.e.opts.Lease, k.alive
	k.putNote(lease)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked.IsZero() {
		l.asked = time.Now()
		go k.ask()
	} else if time.Since(l.asked) > lease*2/3-time.Millisecond { // it comes every third, and more often while renewals fail
		go k.fail(errors.New("the check did not return"))
	}
}

// ask asks, and ends the hold if the answer is an error.
func (k *keptHold) ask() {
	err := futures.ErrGoexit // which leaves nothing to recover
	defer func() {
		if p := recover(); p != nil {
			panicked := &futures.PanicError{Value: p, Stack: debug.Stack()}
			k.e.callbacks.HandlePanic(panicked)
			err = panicked
		}
		k.alive.mu.Lock()
		k.alive.asked = time.Time{}
		k.alive.mu.Unlock()
		if err != nil {
			k.fail(err)
		}
	}()
	err = k.alive.check()
}

// fail ends the hold of which k is, or is a part, because of err.
func (k *keptHold) fail(err error) {
	h := cmp.Or(k.whole(), &k.Hold)
	err = &failure{fmt.Sprintf("wheellock: lock lost while held: WithAlive: %v", err), join2{ErrLost, err}}
	h.listeners().failed.CompareAndSwap(nil, &err)
	h.lose(gate.NotAlive)
}
