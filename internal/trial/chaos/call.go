package chaos

import (
	"context"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// asking is the ways to ask for something.
type asking[T any] struct {
	lock, try func(context.Context, ...engine.LockOption) (T, error)
	async     func(context.Context, ...engine.LockOption) *futures.Future[T]
}

// locker makes the lock of a call.
func (w *worker) locker(d demand) asking[*engine.Hold] {
	p := w.Places[w.place]
	var m *engine.Mutex
	switch p.Kind {
	case permits:
		if w.number%2 == 1 { // half of the workers come by a limit
			l := w.e.Limit(p.Name, p.Permits).Of(max(d.n, 1))
			return asking[*engine.Hold]{l.Lock, l.TryLock, l.LockAsync}
		}
		s := w.e.PermitSemaphore(p.Name)
		return asking[*engine.Hold]{
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
	return asking[*engine.Hold]{m.Lock, m.TryLock, m.LockAsync}
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
		Write: d.write && w.Places[w.place].Kind == rws}
	if d.owner {
		r.Owner = w.number
	}
	h, err := ask(w, d, r, w.locker(d))
	w.answer(h, err, call)
	w.pauseAfter(err)
	return h, call
}

// ask makes a call in the way that is demanded. r is its record.
func ask[T any](w *worker, d demand, r record, l asking[T]) (T, error) {
	opts := w.options(d)
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
	switch {
	case d.way == tried:
		return l.try(ctx, opts...)
	case d.way == dropped:
		f := l.async(ctx, opts...)
		timer := time.AfterFunc(d.wait, func() { f.Cancel() })
		defer timer.Stop()
		return f.Wait(ctx)
	case d.way == ctxEnded && w.chance(500):
		return l.async(ctx, opts...).Wait(context.Background())
	default:
		return l.lock(ctx, opts...)
	}
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
