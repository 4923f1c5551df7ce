package engine_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// blockingHandler is a user's handler that never returns, in none of its methods, before it is let go.
type blockingHandler struct {
	slog.Handler
	entered chan struct{}
	free    chan struct{}
}

func (b blockingHandler) wait() {
	select {
	case b.entered <- struct{}{}:
	default:
	}
	<-b.free
}

func (b blockingHandler) Enabled(context.Context, slog.Level) bool { b.wait(); return true }
func (b blockingHandler) Handle(context.Context, slog.Record) error {
	b.wait()
	return nil
}

// panickyHandler is a user's handler that panics.
type panickyHandler struct{ slog.Handler }

func (panickyHandler) Enabled(context.Context, slog.Level) bool { return true }
func (panickyHandler) Handle(context.Context, slog.Record) error {
	panic("a user's handler")
}

func TestALoggerThatPanicsEndsNoProcess(t *testing.T) {
	spec(engine.Options{}, func(b *bubble) {
		e := b.another(engine.Options{Logger: slog.New(panickyHandler{slog.DiscardHandler})})
		held := b.lock(e.Mutex("stock:7"))
		b.redis.SetDown(true)
		time.Sleep(3 * time.Second)
		b.redis.SetDown(false)
		time.Sleep(time.Second)
		b.unlock(held)
	})(t)
}

// invariant: loop-never-waits
func TestALoggerThatBlocksHoldsUpNothing(t *testing.T) {
	spec(engine.Options{}, func(b *bubble) {
		h := blockingHandler{slog.DiscardHandler, make(chan struct{}, 1), make(chan struct{})}
		defer close(h.free)
		e := b.another(engine.Options{Logger: slog.New(h), Lease: 3 * time.Second})
		held := b.lock(e.Mutex("stock:7"))
		b.lock(b.Mutex("stock:8"))
		waiter := b.queue(e.Mutex("stock:8")) // so that the subscriber has something to tell, too
		for range 3 {
			b.redis.SetDown(true)
			time.Sleep(time.Second)
			b.redis.SetDown(false)
			time.Sleep(20 * time.Second) // renewals go on
			b.wantHeld(held)
		}
		select {
		case <-h.entered:
		default:
			b.Error("nothing was logged")
		}
		b.unlock(b.lock(e.Mutex("stock:9")))
		b.unlock(held)
		waiter.wantWaiting()
		since := time.Now()
		b.wantNil("Close", e.Close())
		if took := time.Since(since); took > time.Second {
			b.Errorf("Close took %v", took)
		}
		b.wantIs("the waiter", func() error { <-waiter.answered; return waiter.err }(), engine.ErrClosed)
	})(t)
}
