package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// everyMutex makes locks of a name, of every kind.
var everyMutex = map[string]func(*engine.Engine, string) *engine.Mutex{
	"Mutex": (*engine.Engine).Mutex, "FairMutex": (*engine.Engine).FairMutex, "FencedMutex": (*engine.Engine).FencedMutex, "SpinMutex": (*engine.Engine).SpinMutex,
	"Reader": func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Reader() },
	"Writer": func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() },
}

// While Redis cannot be reached, nobody knows whether a name is held, unless by a hold of this process.
// invariant: trylock-takes-no-handoff
func TestSpecTryLockWhileRedisIsDown(t *testing.T) {
	t.Parallel()
	for kind, of := range everyMutex {
		t.Run(kind+": that others of this process wait does not mean that it is held", spec(engine.Options{}, func(b *bubble) {
			m := of(b.Engine, "stock:7")
			b.goDown()
			waiter := b.queue(m)
			time.Sleep(time.Second)
			began := time.Now()
			err := testkit.ResultOf(m.TryLock(b.Context()))
			b.wantIs("TryLock", err, engine.ErrNotSent, engine.ErrUnavailable)
			b.wantIsNot("TryLock", err, engine.ErrHeld)
			if took := time.Since(began); took != 0 {
				b.Errorf("TryLock took %v", took)
			}
			waiter.wantWaiting()
			b.redis.SetDown(false)
			b.unlock(waiter.granted())
		}))
		t.Run(kind+": what a hold of this process excludes is held", spec(engine.Options{}, func(b *bubble) {
			held := b.lock(of(b.Engine, "stock:7"))
			m := of(b.Engine, "stock:7")
			if kind == "Reader" {
				m = b.RWMutex("stock:7").Writer()
			}
			b.goDown()
			b.wantIs("TryLock", testkit.ResultOf(m.TryLock(b.Context())), engine.ErrHeld)
			b.wantHeld(held)
			b.redis.SetDown(false)
			b.unlock(held)
		}))
	}
	t.Run("permits that this process holds are not all there are", spec(engine.Options{}, func(b *bubble) {
		p := b.PermitSemaphore("stock:7")
		b.wantNil("TrySetPermits", testkit.ResultOf(p.TrySetPermits(b.Context(), 2)))
		held, err := p.Acquire(b.Context(), 1)
		b.wantNil("Acquire", err)
		b.goDown()
		waiter := p.AcquireAsync(b.Context(), 1)
		time.Sleep(time.Second)
		err = testkit.ResultOf(p.TryAcquire(b.Context(), 1))
		b.wantIs("TryAcquire", err, engine.ErrNotSent)
		b.wantIsNot("TryAcquire", err, engine.ErrHeld)
		b.redis.SetDown(false)
		b.unlock(held)
		held, err = waiter.Wait(b.Context())
		b.wantNil("Acquire of the waiter", err)
		b.unlock(held)
	}))
	t.Run("permits of a semaphore neither", spec(engine.Options{}, func(b *bubble) {
		s := b.Semaphore("stock:7")
		b.wantNil("TrySetPermits", testkit.ResultOf(s.TrySetPermits(b.Context(), 1)))
		b.goDown()
		waiter := s.AcquireAsync(b.Context(), 1)
		time.Sleep(time.Second)
		err := s.TryAcquire(b.Context(), 1)
		b.wantIs("TryAcquire", err, engine.ErrNotSent)
		b.wantIsNot("TryAcquire", err, engine.ErrHeld)
		b.redis.SetDown(false)
		b.wantNil("Acquire of the waiter", testkit.ResultOf(waiter.Wait(b.Context())))
	}))
}

// An error says for how long its call waited, and why Redis could not be reached.
func TestErrorsWhileRedisIsDownSayWhy(t *testing.T) {
	spec(engine.Options{}, func(b *bubble) {
		m := b.Mutex("stock:7")
		multi, err := engine.Multi(m, b.Mutex("stock:8"))
		b.wantNil("Multi", err)
		quorum, err := engine.Quorum("stock:9", b.Engine)
		b.wantNil("Quorum", err)
		b.goDown()
		ctx, cancel := context.WithTimeout(b.Context(), 100*time.Millisecond)
		defer cancel()
		wait := engine.WithWait(100 * time.Millisecond)
		const why, timedOut, notSent = "dial memory: connection refused", "wait timed out after 100ms: Redis cannot be reached: ", "not sent, Redis cannot be reached: "
		for _, c := range []struct {
			text string
			err  error
		}{
			{`lock "stock:7": context deadline exceeded: Redis cannot be reached: `, testkit.ResultOf(m.Lock(ctx))},
			{`lock "stock:7": ` + timedOut, testkit.ResultOf(m.Lock(b.Context(), wait))},
			{`lock "stock:7": ` + timedOut, testkit.ResultOf(m.LockAsync(b.Context(), wait).Wait(b.Context()))},
			{`lock "stock:7": ` + notSent, testkit.ResultOf(m.TryLock(b.Context()))},
			{`inspect "stock:7": ` + notSent, testkit.ResultOf(m.Inspect(b.Context()))},
			{`acquire "seats": ` + timedOut, b.Semaphore("seats").Acquire(b.Context(), 1, wait)},
			{`wait for "gate": ` + timedOut, b.CountDownLatch("gate").Wait(b.Context(), wait)},
			{`lock "stock:7": ` + timedOut, testkit.ResultOf(multi.Lock(b.Context(), wait))},
			{`lock "stock:9": ` + notSent, testkit.ResultOf(quorum.TryLock(b.Context()))},
			{`lock "stock:9": wait timed out after 100ms: ` + notSent, testkit.ResultOf(quorum.Lock(b.Context(), wait))},
		} {
			if text := fmt.Sprint(c.err); !strings.HasPrefix(text, "wheellock: "+c.text) || !strings.HasSuffix(text, notSent+why) && !strings.HasSuffix(text, c.text+why) {
				b.Errorf("%s, want %s%s", text, c.text, why)
			}
			b.wantIs("the error", c.err, engine.ErrUnavailable)
		}
		b.redis.SetDown(false)
	})(t)
}
