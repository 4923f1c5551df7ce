package chaos

import (
	"context"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// locker is the ways to ask for something that gives a hold.
type locker struct {
	lock, try func(context.Context, ...engine.LockOption) (*engine.Hold, error)
	async     func(context.Context, ...engine.LockOption) *futures.Future[*engine.Hold]
}

// locker makes the lock of a call.
func (w *worker) locker(d demand) locker {
	p := w.Places[w.place]
	var m *engine.Mutex
	switch p.Kind {
	case permits:
		s := w.e.PermitSemaphore(p.Name)
		return locker{
			func(ctx context.Context, o ...engine.LockOption) (*engine.Hold, error) {
				return s.Acquire(ctx, d.n, o...)
			},
			func(ctx context.Context, o ...engine.LockOption) (*engine.Hold, error) {
				return s.TryAcquire(ctx, d.n, o...)
			},
			func(ctx context.Context, o ...engine.LockOption) *futures.Future[*engine.Hold] {
				return s.AcquireAsync(ctx, d.n, o...)
			},
		}
	case fenced:
		m = w.e.FencedMutex(p.Name)
	case spins:
		m = w.e.SpinMutex(p.Name)
	case fairs:
		m = w.e.FairMutex(p.Name)
	case rws:
		if m = w.e.RWMutex(p.Name).Reader(); d.write {
			m = w.e.RWMutex(p.Name).Writer()
		}
	default:
		m = w.e.Mutex(p.Name)
	}
	return locker{m.Lock, m.TryLock, m.LockAsync}
}

// options are those of a call.
func (w *worker) options(d demand) []engine.LockOption {
	var opts []engine.LockOption
	if d.lease > 0 {
		opts = append(opts, engine.WithLease(d.lease))
	}
	if d.way == waited {
		opts = append(opts, engine.WithWait(d.wait))
	}
	if d.owner {
		opts = append(opts, engine.WithOwner(w.owner))
	}
	return opts
}

// lock makes a call and tells how it went. Nil: there is no hold.
func (w *worker) lock(d demand) (*engine.Hold, uint32) {
	call := w.client.number()
	r := record{What: called, Way: d.way, Place: uint16(w.place), Call: call, N: int32(max(d.n, 1)),
		Write: d.write && w.Places[w.place].Kind == rws, Fixed: d.lease > 0}
	if d.owner {
		r.Owner = w.number
	}
	l, opts := w.locker(d), w.options(d)
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if d.way == ctxEnded {
		ctx, cancel = context.WithTimeout(ctx, d.wait)
	}
	defer cancel()
	r.At = now()
	if d.way == tried {
		// Bounded by nothing but the link's own patience, below the lease.
		r.Until = r.At.plus(w.Lease)
	} else if d.way != unbound {
		r.Until = r.At.plus(d.wait)
	}
	w.tell(r)
	var h *engine.Hold
	var err error
	switch d.way {
	case tried:
		h, err = l.try(ctx, opts...)
	case dropped:
		f := l.async(ctx, opts...)
		timer := time.AfterFunc(d.wait, func() { f.Cancel() })
		h, err = f.Wait(ctx)
		timer.Stop()
	case ctxEnded:
		if w.chance(500) {
			h, err = l.async(ctx, opts...).Wait(context.Background())
			break
		}
		h, err = l.lock(ctx, opts...)
	default:
		h, err = l.lock(ctx, opts...)
	}
	w.answer(h, err, call)
	w.pauseAfter(err)
	return h, call
}

// pauseAfter keeps a worker from calling again and again who is refused at once.
func (w *worker) pauseAfter(err error) {
	if c, _ := classify(err); c&(isNotSent|isRefused|isOverloaded|isClosed) != 0 {
		w.sleep(w.upTo(5 * time.Millisecond))
	}
}

// answer tells what came of a call.
func (w *worker) answer(h *engine.Hold, err error, call uint32) {
	at := now()
	if err != nil {
		c, text := classify(err)
		w.tell(record{What: denied, At: at, Call: call, Classes: c, Text: text})
		return
	}
	token, _ := h.Token()
	w.tell(record{What: granted, At: at, Call: call, Token: token, Until: of(h.Deadline())})
}

// unlock is for holds of which nobody reads the history.
func (w *worker) unlock(h *engine.Hold) { _ = h.Unlock(context.Background()) }
