package load

import (
	"context"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// latch is a latch that its callers shut when it is open, and wait for when it is shut. The caller that shut it
// opens it again, by counting down. Each shutting has a number, the same in all processes.
type latch struct {
	*engine.CountDownLatch
	cell *cell
}

// get shuts the latch, or waits until it is open.
func (l latch) get(ctx context.Context, opts []engine.LockOption) (Grant, error) {
	g, err := l.shut()
	if err != nil || g.shut {
		return g, err
	}
	return g, l.Wait(ctx, opts...)
}

func (l latch) getAsync(ctx context.Context, opts []engine.LockOption, ch *chain) {
	go func() { // there is no asynchronous way to shut it
		g, err := l.shut()
		if err != nil || g.shut {
			ch.toEnter(g, err)
			return
		}
		l.WaitAsync(ctx, opts...).Then(func(_ struct{}, err error) { ch.toEnter(g, err) })
	}()
}

// longestAnswer is for how long the engine asks again when answers are lost, and a bit.
const longestAnswer = time.Minute

// shut shuts the latch, or reads which shutting stands. A number that is read stands in Redis already: a caller that
// asks from now on passes only when that one is open. The caller that shut it must learn of it, however late, or nobody opens it.
func (l latch) shut() (pass, error) {
	ctx, stop := context.WithTimeout(context.Background(), longestAnswer)
	defer stop()
	shut, err := l.TrySetCount(ctx, 1)
	if shut {
		return pass{latch: l, number: l.cell.shut.Add(1), shut: true}, err
	}
	return pass{latch: l, number: l.cell.shut.Load()}, err
}

// pass is what a caller of a latch has got: it has shut it, or it may pass.
type pass struct {
	latch
	number int64
	shut   bool
}

// early reports whether a waiter has passed before the latch was opened.
func (p pass) early() bool { return !p.shut && p.cell.opened.Load() < p.number }

// Unlock opens the latch if this caller has shut it.
func (p pass) Unlock(ctx context.Context) error {
	if !p.shut {
		return nil
	}
	p.cell.opened.Store(p.number) // before anybody can pass
	return p.CountDown(ctx)
}
