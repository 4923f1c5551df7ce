//go:build !rivalsonly

package main

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/wheellock/wheellock/contrib/httplock"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

var wheellockEntry = entry{
	name:     "wheellock",
	settings: "Options as they come, with this Redis; Mutex, which is Redisson's RLock",
	lacks:    "fencing needs FencedMutex, order across processes FairMutex",
	title:    "wheellock",
	commands: []string{"hello", "subscribe", "unsubscribe", "ping"},
	open:     func(w work) Contestant { return &wheellock{kind: w.Kind} },
	takes:    func(work) bool { return true },
	guard:    guardByWheellock,
	guarded:  "contrib/httplock with that Wait, which has WithFailFast; a lease of 30 s that the engine renews",
}

var wheellockSimpleEntry = entry{
	name:     "wheellock simple",
	settings: "as wheellock, but SimpleMutex, which is the lock of the libraries for Go and Python here",
	lacks:    "as wheellock",
	title:    "wheellock, simple",
	commands: wheellockEntry.commands,
	open:     func(work) Contestant { return &wheellock{kind: simple} },
}

// ours is wheellock, first in every round.
func ours() []entry { return []entry{wheellockEntry, wheellockSimpleEntry} }

type wheellock struct {
	kind    string
	engines []*engine.Engine // several: of a quorum
	permits sync.Once        // gives a semaphore its permit
}

func (w *wheellock) Open(urls string) error {
	for url := range strings.SplitSeq(urls, ",") {
		opts, err := engine.ParseURL(url)
		if err != nil {
			return err
		}
		opts.Lease = lease
		e, err := engine.Open(context.Background(), opts)
		if err != nil {
			return err
		}
		w.engines = append(w.engines, e)
	}
	return nil
}

func (w *wheellock) Pair(ctx context.Context, name string, inside func()) error {
	if w.kind == semaphore {
		return w.semaphorePair(ctx, w.engines[0].Semaphore(name), inside)
	}
	hold, err := w.lock(ctx, name)
	if err != nil {
		return err
	}
	inside()
	return hold.Unlock(ctx)
}

func (w *wheellock) semaphorePair(ctx context.Context, s *engine.Semaphore, inside func()) (err error) {
	w.permits.Do(func() { _, err = s.TrySetPermits(ctx, 1) })
	if err != nil {
		return err
	}
	if err := s.Acquire(ctx, 1, engine.WithWait(longWait)); err != nil {
		return err
	}
	inside()
	return s.Release(ctx, 1)
}

// lock calls Lock where it makes the handle, as users do: a handle that a function returns would be an allocation.
func (w *wheellock) lock(ctx context.Context, name string) (*engine.Hold, error) {
	e := w.engines[0]
	switch w.kind {
	case simple:
		return e.SimpleMutex(name).Lock(ctx, engine.WithWait(longWait))
	case fenced:
		return e.FencedMutex(name).Lock(ctx, engine.WithWait(longWait))
	case fair:
		return e.FairMutex(name).Lock(ctx, engine.WithWait(longWait))
	case write:
		return e.RWMutex(name).Writer().Lock(ctx, engine.WithWait(longWait))
	case quorum:
		q, err := engine.Quorum(name, w.engines...)
		if err != nil {
			return nil, err
		}
		return q.Lock(ctx, engine.WithWait(longWait))
	case permit:
		return w.permit(ctx, e.PermitSemaphore(name))
	}
	return e.Mutex(name).Lock(ctx, engine.WithWait(longWait))
}

func (w *wheellock) permit(ctx context.Context, p *engine.PermitSemaphore) (hold *engine.Hold, err error) {
	w.permits.Do(func() { _, err = p.TrySetPermits(ctx, 1) })
	if err != nil {
		return nil, err
	}
	return p.Acquire(ctx, 1, engine.WithWait(longWait))
}

func (w *wheellock) PairAsync(ctx context.Context, name string, inside func(), done func(error)) {
	var granted *futures.Future[*engine.Hold] = w.engines[0].Mutex(name).LockAsync(ctx, engine.WithWait(longWait))
	granted.Then(func(hold *engine.Hold, err error) {
		if err != nil {
			done(err)
			return
		}
		inside()
		hold.UnlockAsync().Then(func(_ struct{}, err error) { done(err) })
	})
}

func guardByWheellock(url string, work http.Handler) (site, error) {
	w := &wheellock{}
	if err := w.Open(url); err != nil {
		return site{}, err
	}
	e := w.engines[0]
	exclusive, err := httplock.New(e, httplock.Options{Wait: guardWait})
	if err != nil {
		return site{}, err
	}
	return site{exclusive(work), e.Up, w.Close}, nil
}

func (w *wheellock) Close() {
	for _, e := range w.engines {
		e.Close()
	}
}
