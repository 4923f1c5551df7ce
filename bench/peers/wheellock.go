//go:build !rivalsonly

package main

import (
	"context"

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
	kind   string
	engine *engine.Engine
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
	hold, err := w.mutex(name).Lock(ctx, engine.WithWait(longWait))
	if err != nil {
		return err
	}
	inside()
	return hold.Unlock(ctx)
}

func (w *wheellock) mutex(name string) *engine.Mutex {
	switch w.kind {
	case fenced:
		return w.engine.FencedMutex(name)
	case fair:
		return w.engine.FairMutex(name)
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
