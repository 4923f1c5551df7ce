package engine_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// TestSimpleMutex: another library takes the lock by SET with NX, and frees it by DEL.
func TestSimpleMutex(t *testing.T) {
	t.Parallel()
	t.Run("is a string that others cannot take", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.SimpleMutex("job"))
		id, token, salted := strings.Cut(h.TenureID()[len(b.ID()):], ":")
		if number, salt, _ := strings.Cut(token, ":"); !strings.HasPrefix(h.TenureID(), b.ID()) || !salted || id != "" || len(salt) != 26 {
			b.Errorf("the owner is %q, its number %s", h.TenureID(), number)
		}
		if got := b.redis.Do("GET", "job").Str; got != h.TenureID() {
			b.Errorf("the value is %q, the owner %q", got, h.TenureID())
		}
		if got := b.redis.Do("SET", "job", "theirs", "NX", "PX", "1000").Str; got != "" {
			b.Errorf("SET NX answers %q", got)
		}
		time.Sleep(manyLeases) // the watchdog
		b.wantHeld(h)
		b.unlock(h)
	}))
	t.Run("of another library is waited for, and is found by asking", spec(engine.Options{}, func(b *bubble) {
		for _, token := range []string{"theirs", "\x00\xff", "17", b.ID() + ":1", strings.Repeat("long", 1<<18)} {
			b.redis.Do("SET", "job", token, "NX", "PX", "60000")
			_, err := b.SimpleMutex("job").TryLock(b.Context())
			b.wantIs("TryLock", err, engine.ErrHeld)
			s, err := b.SimpleMutex("job").Inspect(b.Context())
			b.wantNil("Inspect", err)
			if !s.Locked || s.Ours || s.Owner != token || s.Kind != engine.KindSimple || s.TTL != time.Minute {
				b.Errorf("of %.20q: %+v", token, s.TTL)
			}
			waiter := b.queue(b.SimpleMutex("job"))
			time.Sleep(time.Second)
			waiter.wantWaiting()
			b.redis.Do("DEL", "job")
			time.Sleep(128 * time.Millisecond)
			b.unlock(waiter.wantGrantedNow())
		}
	}))
	t.Run("of another library ends with its TTL, and without one never", specClean(engine.Options{}, func(b *bubble) {
		b.redis.Do("SET", "job", "theirs", "PX", "60000")
		began := time.Now()
		b.unlock(b.lock(b.SimpleMutex("job")))
		if waited := time.Since(began); waited < time.Minute || waited > time.Minute+10*time.Millisecond {
			b.Errorf("waited for %v", waited)
		}
		b.redis.Do("SET", "job", "theirs")
		_, err := b.SimpleMutex("job").Lock(b.Context(), engine.WithWait(10*time.Second))
		b.wantIs("Lock", err, engine.ErrWaitTimeout, engine.ErrHeld)
		if !strings.Contains(err.Error(), "without an end that is known") {
			b.Errorf("it does not say that the key has no TTL: %v", err)
		}
		_, err = b.SimpleMutex("job").TryLock(b.Context())
		testkit.Mentions(b, err, `"job" is held by another owner, without an end that is known`)
		freed, err := b.SimpleMutex("job").ForceUnlock(b.Context())
		b.wantNil("ForceUnlock", err)
		if !freed {
			b.Error("nothing was freed")
		}
	}))
	t.Run("passes from another library by its token", spec(engine.Options{}, func(b *bubble) {
		b.redis.Do("SET", "job", "theirs", "PX", "60000")
		h, err := b.SimpleMutex("job").Adopt(b.Context(), "theirs")
		b.wantNil("Adopt", err)
		if got := b.redis.Do("GET", "job").Str; got != h.TenureID() {
			b.Errorf("the value is %q", got)
		}
		_, err = b.SimpleMutex("job").Adopt(b.Context(), "theirs")
		b.wantIs("Adopt again", err, engine.ErrLost)
		b.unlock(h)
	}))
	t.Run("of another library that is free as often as the engine asks, and never when it does, is caught", spec(engine.Options{}, func(b *bubble) {
		take := func() bool { return b.redis.Do("SET", "job", "theirs", "NX", "PX", "60000").Str == "OK" }
		take()
		waiter := b.queue(b.SimpleMutex("job"))
		time.Sleep(5 * time.Second)
		asks := func() time.Time { // the next question
			for before := b.Stats().Attempts; b.Stats().Attempts == before; time.Sleep(time.Millisecond) {
			}
			return time.Now()
		}
		last := asks()
		period := asks().Sub(last)
		for n := 0; n < 100 && waiter.waits(); n++ {
			b.redis.Do("DEL", "job")
			time.Sleep(period / 4)
			if !take() {
				break
			}
			time.Sleep(period - period/4)
		}
		b.unlock(waiter.wantGrantedNow())
	}))
	t.Run("that is left taken is asked for seldom", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		h := b.lock(b.SimpleMutex("job"), engine.WithMinHold(time.Minute))
		waiter := b.queue(other.SimpleMutex("job"))
		b.unlock(h)
		synctest.Wait()
		before := other.Stats().Attempts
		time.Sleep(59 * time.Second)
		waiter.wantWaiting()
		if n := other.Stats().Attempts - before; n > 60 {
			b.Errorf("asked %d times in a minute", n)
		}
		time.Sleep(time.Second + 2*time.Millisecond)
		b.unlock(waiter.wantGrantedNow())
	}))
	t.Run("that somebody else overwrote is lost, and not freed", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.SimpleMutex("job"))
		b.redis.Do("SET", "job", "theirs", "PX", "60000")
		time.Sleep(10 * time.Second)
		b.wantEnded(h, engine.ErrLost)
		synctest.Wait()
		if got := b.redis.Do("GET", "job").Str; got != "theirs" {
			b.Errorf("the value is %q", got)
		}
		b.redis.Do("DEL", "job")
	}))
	t.Run("is left to others once in a second, also by engines that come meanwhile", spec(engine.Options{}, func(b *bubble) {
		b.redis.SetLatency(250 * time.Microsecond)
		ctx, stop := context.WithCancel(b.Context())
		var callers sync.WaitGroup
		for range 8 {
			e := b.another(engine.Options{})
			callers.Go(func() {
				for ctx.Err() == nil {
					if h, err := e.SimpleMutex("job").Lock(ctx); err == nil {
						time.Sleep(5 * time.Millisecond)
						b.wantNil("Unlock", h.Unlock(b.Context()))
						time.Sleep(20 * time.Millisecond) // so when a turn ends, some do not wait
					}
				}
			})
		}
		time.Sleep(2 * time.Second)
		for range 3 { // others that come seldom
			came := time.Now()
			for b.redis.Do("SET", "job", "theirs", "NX", "PX", "60000").Str != "OK" && time.Since(came) < time.Minute {
				time.Sleep(100 * time.Millisecond)
			}
			if waited := time.Since(came); waited > time.Second {
				b.Errorf("a poller waited for %v", waited)
			}
			time.Sleep(5 * time.Millisecond)
			b.redis.Do("DEL", "job")
			time.Sleep(2 * time.Second)
		}
		stop()
		callers.Wait()
	}))
	t.Run("is no other kind", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		h := b.lock(b.SimpleMutex("job"))
		_, err := other.Mutex("job").TryLock(b.Context())
		b.wantIs("a mutex", err, engine.ErrForeignKey)
		b.unlock(h)
		h = b.lock(b.Mutex("job"))
		_, err = other.SimpleMutex("job").TryLock(b.Context())
		b.wantIs("a simple lock", err, engine.ErrForeignKey)
		_, err = other.SimpleMutex("job").Inspect(b.Context())
		b.wantIs("Inspect", err, engine.ErrForeignKey)
		b.unlock(h)
		b.redis.Do("SET", "job", strings.Repeat("no lock", 1<<18))
		_, err = other.SimpleMutex("job").Lock(b.Context())
		b.wantIs("Lock of a long string", err, engine.ErrForeignKey)
		_, err = other.SimpleMutex("job").Inspect(b.Context())
		b.wantIs("Inspect of it", err, engine.ErrForeignKey)
		b.redis.Do("DEL", "job")
	}))
	t.Run("passes from engine to engine without a question", spec(engine.Options{}, func(b *bubble) {
		engines := []*engine.Engine{b.Engine, b.another(engine.Options{}), b.another(engine.Options{}), b.another(engine.Options{})}
		h := b.lock(b.SimpleMutex("job"))
		var waiting []*waiting
		for _, e := range engines[1:] {
			waiting = append(waiting, b.queue(e.SimpleMutex("job")))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		for i, w := range waiting {
			attempts := engines[i+1].Stats().Attempts
			time.Sleep(10 * time.Millisecond)
			b.unlock(h)
			h = w.wantGrantedNow()
			if n := engines[i+1].Stats().Attempts - attempts; n > 0 {
				b.Errorf("engine %s asked %d times", strconv.Itoa(i+1), n)
			}
		}
		b.unlock(h)
	}))
}
