package engine

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Risk says that the renewal of a hold is overdue: attempts have failed, and only half of the lease is left, or less. With a nil Err it
// says that the hold was renewed after all. A hold that is not renewed is lost when Left is over.
//
// A hold is told once until it is renewed, and in this order; a Risk may still come after Ended. Of a MultiLock or a QuorumLock each
// lock is told by itself, under its own name. A hold with a fixed lease is never at risk, because nobody renews it.
//
// If Redis falls silent, an attempt fails only by a time-out, and so may the connection that is dialled after it, twice. With a lease of
// 30 s a hold is told with 7 to 15 s left, mostly with 12 or more, and with any of 10 s or more it is told before the loss. With a
// shorter one, of which these time-outs are a larger part, it may be lost without a Risk.
type Risk struct {
	Name  string // as it was given
	Kind  Kind
	Owner string        // [Hold.TenureID]: the owner field in Redis
	Left  time.Duration // until [Hold.Deadline]
	Err   error         // why it is not renewed: [ErrNotSent], [ErrUncertain], [ErrRefused] or [ErrNotReplicated]; nil: it was
}

// risk is a hold that is at risk because of err; nil: it was renewed, and is not at risk any more.
type risk struct {
	h   *Hold
	err error
}

// Risk is called by the loop when the renewal of the hold is overdue, or came after all. They implement gate.Warned.
func (h *held) Risk(why gate.Outcome)         { (*Hold)(h).noteRisk(why) }
func (o *observedHold) Risk(why gate.Outcome) { o.noteRisk(why) }

// The loop finds either by a type assertion, which would leave out what does not fit.
var _, _ gate.Warned = (*held)(nil), (*observedHold)(nil)

func (h *Hold) noteRisk(why gate.Outcome) {
	e, err := h.e, errorOf("renew", h.name, why)
	if err != nil {
		e.overdue.noteRisk(h, err)
	}
	if e.opts.Observer == nil || e.opts.Observer.Risk == nil {
		return
	}
	e.risks.put(risk{h, err}) // one after the other: an outage puts all holds at risk at once, and must not keep all callback workers busy
}

// run tells the Observer.
func (r risk) run() {
	if h := r.h; h.ended.Load() == 0 {
		h.e.notify(func() {
			h.e.opts.Observer.Risk(Risk{h.name, h.kind.text(), h.TenureID(), time.Until(h.Deadline()), r.err})
		})
	}
}
