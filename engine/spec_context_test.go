package engine_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestSpecHoldContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	errStop := errors.New("stop")

	t.Run("ends with ErrUnlocked when the hold is unlocked", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx := h.Context(b.Context())
		b.wantNil("ctx.Err", ctx.Err())
		b.unlock(h)
		b.wantIs("ctx.Err", ctx.Err(), context.Canceled)
		b.wantIs("cause", causeOf(ctx), engine.ErrUnlocked)
		b.wantIsNot("cause", causeOf(ctx), engine.ErrLost)
	}))
	t.Run("ends with ErrLost when the hold is lost", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), engine.WithLease(time.Second))
		ctx := h.Context(b.Context())
		<-ctx.Done()
		if now := time.Now(); !now.Equal(h.Deadline()) {
			b.Errorf("it ended %v after the deadline", now.Sub(h.Deadline()))
		}
		b.wantIs("cause", causeOf(ctx), engine.ErrLost)
	}))
	t.Run("ends with ErrClosed, which is ErrLost, when the engine is closed", spec(engine.Options{}, func(b *bubble) {
		ctx := b.lock(b.Mutex("stock:7")).Context(b.Context())
		b.Close()
		b.wantIs("cause", causeOf(ctx), engine.ErrClosed, engine.ErrLost)
	}))
	t.Run("has ended when the hold has", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.unlock(h)
		ctx := h.Context(b.Context())
		b.wantIs("ctx.Err", ctx.Err(), context.Canceled)
		b.wantIs("cause", causeOf(ctx), engine.ErrUnlocked)
	}))
	t.Run("has its parent's values and end", spec(engine.Options{}, func(b *bubble) {
		parent, cancel := context.WithCancelCause(context.WithValue(b.Context(), key{}, "value"))
		h := b.lock(b.Mutex("stock:7"))
		ctx := h.Context(parent)
		if got := ctx.Value(key{}); got != "value" {
			b.Errorf("Value = %v", got)
		}
		cancel(errStop)
		<-ctx.Done()
		b.wantIs("cause", causeOf(ctx), errStop)
		b.wantHeld(h)
		b.unlock(h)
		b.wantIs("cause", causeOf(ctx), errStop)
	}))
	t.Run("has its parent's deadline", spec(engine.Options{}, func(b *bubble) {
		parent, cancel := context.WithTimeoutCause(b.Context(), time.Second, errStop)
		defer cancel()
		h := b.lock(b.Mutex("stock:7"))
		ctx := h.Context(parent)
		child, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		<-child.Done()
		b.wantIs("ctx.Err", ctx.Err(), context.DeadlineExceeded)
		b.wantIs("a child's Err", child.Err(), context.DeadlineExceeded)
		b.wantIs("a child's cause", causeOf(child), errStop)
		b.wantHeld(h)
	}))
	t.Run("is one of any number", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		one, cancel := context.WithCancel(b.Context())
		contexts := []context.Context{h.Context(b.Context()), h.Context(one), h.Context(context.Background()), h.Context(one)}
		cancel()
		<-contexts[1].Done()
		b.wantNil("another's Err", contexts[0].Err())
		b.unlock(h)
		b.wantIs("cause", causeOf(contexts[0]), engine.ErrUnlocked)
		b.wantIs("cause", causeOf(contexts[2]), engine.ErrUnlocked)
	}))
	t.Run("ends for each re-entry by itself", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		outer, inner := b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me)
		out, in := outer.Context(b.Context()), inner.Context(b.Context())
		b.unlock(inner)
		b.wantIs("cause", causeOf(in), engine.ErrUnlocked)
		b.wantNil("the other's Err", out.Err())
	}))
}

func TestSpecHoldEnd(t *testing.T) {
	t.Parallel()
	t.Run("Done is one channel, open while Err is nil", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		done := h.Done()
		b.wantHeld(h)
		b.unlock(h)
		if !isClosed(done) || !isClosed(h.Done()) {
			b.Error("Done is open after Unlock")
		}
		b.wantEnded(h, engine.ErrUnlocked)
	}))
	t.Run("the second Unlock is ErrUnlocked", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.unlock(h)
		next := b.lock(b.Mutex("stock:7"))
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrUnlocked)
		b.wantIs("UnlockAsync", testkit.ResultOf(h.UnlockAsync().Wait(b.Context())), engine.ErrUnlocked)
		b.wantHeld(next)
		b.wantKeys("stock:7")
	}))
	t.Run("Unlock is sent also when its context has ended", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		h.Unlock(ctx)
	}))
	t.Run("Unlock waits for its answer under the hold's own context, too", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.wantNil("Unlock", h.Unlock(h.Context(b.Context())))
		h = b.lock(b.Mutex("stock:7"))
		b.wantNil("Unlock under a context of a context", h.Unlock(h.Context(h.Context(b.Context()))))
		b.wantKeys()

		h = b.lock(b.Mutex("stock:7"))
		ctx, cancel := context.WithTimeout(h.Context(b.Context()), time.Second)
		defer cancel()
		b.goDown()
		since := time.Now()
		err := h.Unlock(ctx)
		b.wantIs("Unlock while down", err, engine.ErrUncertain, context.DeadlineExceeded)
		testkit.Mentions(b, err, "the outcome is unknown: context deadline exceeded")
		if took := time.Since(since); took > time.Second {
			b.Errorf("it took %v, want what its context allows", took)
		}
	}))
	t.Run("tells what it is", spec(engine.Options{NameMapper: func(name string) string { return "shop:" + name }}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		if h.Name() != "stock:7" || h.Count() != 1 {
			b.Errorf("Name %q, Count %d", h.Name(), h.Count())
		}
		if token, fenced := h.Token(); token != 0 || fenced {
			b.Errorf("Token = %d, %t of a lock that is not fenced", token, fenced)
		}
		state := b.state("stock:7")
		want := engine.State{Locked: true, Ours: true, Owner: h.TenureID(), OwnerID: state.OwnerID, Count: 1, TTL: 30 * time.Second, Kind: engine.KindMutex, Since: state.Since}
		if state != want {
			b.Errorf("state = %+v, want %+v", state, want)
		}
	}))
	t.Run("Count of a hold that has ended is what its Owner has left", spec(engine.Options{}, func(b *bubble) {
		me := engine.WithOwner(engine.NewOwner())
		first, second := b.lock(b.Mutex("stock:7"), me), b.lock(b.Mutex("stock:7"), me)
		b.unlock(first)
		if got := first.Count(); got != 1 {
			b.Errorf("Count = %d, want 1", got)
		}
		b.unlock(second)
		alone := b.lock(b.Mutex("stock:8"))
		b.unlock(alone)
		for _, h := range []*engine.Hold{first, second, alone} {
			if got := h.Count(); got != 0 {
				b.Errorf("Count = %d, want 0", got)
			}
		}
	}))
}

// A server that takes a context of one long hold for each request must not keep them all: what a context costs is given
// back when its parent ends, and parents that never end cost once.
func TestContextsOfALongHoldAreGivenBack(t *testing.T) {
	type key struct{}
	t.Run("parents that end or never do", specAlone(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("x"))
		ended, cancel := context.WithCancel(b.Context())
		cancel()
		live := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapObjects
		}
		use := func(times int) {
			for range times {
				h.Context(context.Background())
				h.Context(context.WithValue(context.Background(), key{}, 2))
				h.Context(ended)
				parent, done := context.WithCancel(b.Context())
				h.Context(parent)
				done()
			}
			synctest.Wait()
		}
		use(100)
		before := live()
		for range 100 { // Go keeps the goroutines that tell of an end, as many as there ever were at once
			use(100)
		}
		if after := live(); after > before+1000 {
			b.Errorf("40,000 contexts left %d objects behind", after-before)
		}
	}))
	t.Run("a parent that never ends keeps its values, and the context ends with the hold", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("x"))
		ctx := h.Context(context.WithValue(context.Background(), key{}, "value"))
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		if got := child.Value(key{}); got != "value" {
			b.Errorf("the child's value is %v", got)
		}
		if err := h.Unlock(ctx); err != nil {
			b.Errorf("Unlock with the hold's own context: %v", err)
		}
		synctest.Wait()
		if cause := context.Cause(child); !errors.Is(cause, engine.ErrUnlocked) || ctx.Err() == nil {
			b.Errorf("after Unlock the child's cause is %v, the context's Err %v", cause, ctx.Err())
		}
	}))
}

// What ends a context of a hold first decides its Err and its cause, for good.
func TestContextOfAHoldKeepsItsErr(t *testing.T) {
	t.Parallel()
	t.Run("the hold ends before the parent", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("x"))
		parent, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		ctx := h.Context(parent)
		b.unlock(h)
		for range 2 {
			if err, cause := ctx.Err(), context.Cause(ctx); err != context.Canceled || !errors.Is(cause, engine.ErrUnlocked) {
				b.Errorf("Err %v, cause %v", err, cause)
			}
			time.Sleep(2 * time.Second)
		}
	}))
	t.Run("the parent ends before the hold", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("x"))
		parent, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		ctx := h.Context(parent)
		<-ctx.Done()
		for range 2 {
			if err, cause := ctx.Err(), context.Cause(ctx); err != context.DeadlineExceeded || cause != context.DeadlineExceeded {
				b.Errorf("Err %v, cause %v", err, cause)
			}
			if h.Err() == nil {
				b.unlock(h)
			}
		}
	}))
}
