//go:build !rivalsonly

package main

import (
	"context"
	"sync"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

var wheellockEntry = entry{
	name:     "wheellock",
	settings: "Options as they come, with this Redis; Mutex, which is Redisson's RLock",
	lacks:    "no quorum over several Redis in this work, as for the others; fencing needs FencedMutex, order across processes FairMutex",
	title:    "wheellock",
	commands: []string{"hello", "subscribe", "unsubscribe", "ping"},
	open:     func(w work) Contestant { return &wheellock{kind: w.Kind} },
	takes:    func(work) bool { return true },
}

// ours is wheellock, first in every round.
func ours() []entry { return []entry{wheellockEntry} }

type wheellock struct {
	kind    string
	engine  *engine.Engine
	permits sync.Once // gives a semaphore its permit
}

func (w *wheellock) Open(url string) error {
	opts, err := engine.ParseURL(url)
	if err != nil {
		return err
	}
	opts.Lease = lease
	w.engine, err = engine.Open(context.Background(), opts)
	return err
}

func (w *wheellock) Pair(ctx context.Context, name string, inside func()) error {
	if w.kind == semaphore {
		return w.semaphorePair(ctx, w.engine.Semaphore(name), inside)
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

func (w *wheellock) lock(ctx context.Context, name string) (hold *engine.Hold, err error) {
	if w.kind != permit {
		return w.mutex(name).Lock(ctx, engine.WithWait(longWait))
	}
	p := w.engine.PermitSemaphore(name)
	w.permits.Do(func() { _, err = p.TrySetPermits(ctx, 1) })
	if err != nil {
		return nil, err
	}
	return p.Acquire(ctx, 1, engine.WithWait(longWait))
}

func (w *wheellock) mutex(name string) *engine.Mutex {
	switch w.kind {
	case fenced:
		return w.engine.FencedMutex(name)
	case fair:
		return w.engine.FairMutex(name)
	case write:
		return w.engine.RWMutex(name).Writer()
	}
	return w.engine.Mutex(name)
}

func (w *wheellock) PairAsync(ctx context.Context, name string, inside func(), done func(error)) {
	var granted *futures.Future[*engine.Hold] = w.engine.Mutex(name).LockAsync(ctx, engine.WithWait(longWait))
	granted.Then(func(hold *engine.Hold, err error) {
		if err != nil {
			done(err)
			return
		}
		inside()
		hold.UnlockAsync().Then(func(_ struct{}, err error) { done(err) })
	})
}

func (w *wheellock) Close() { w.engine.Close() }
