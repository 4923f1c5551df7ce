package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// wantNote fails the test unless the owner of a lock has this note.
func (b *bubble) wantNote(m *engine.Mutex, want string) {
	b.Helper()
	synctest.Wait()
	if state := b.inspect(m); state.Note != want {
		b.Errorf("the note of %s is %q, want %q", m, state.Note, want)
	}
}

func TestSpecNote(t *testing.T) {
	t.Parallel()
	const note = "nightly report № 7"
	noted := engine.WithNote(note)
	kinds := func(e *engine.Engine) []*engine.Mutex {
		return []*engine.Mutex{e.Mutex("a"), e.FencedMutex("b{b}"), e.SpinMutex("c"), e.SimpleMutex("d"), e.FairMutex("e"), e.RWMutex("f").Reader(), e.RWMutex("g").Writer()}
	}
	t.Run("shows as long as the lock is held, and not longer", specClean(engine.Options{}, func(b *bubble) {
		var holds []*engine.Hold
		for i, m := range kinds(b.another(engine.Options{FenceTTL: time.Minute})) {
			if i%2 == 0 {
				holds = append(holds, b.lock(m, noted))
			} else {
				h, err := m.TryLockAsync(b.Context(), noted).Wait(b.Context())
				b.wantNil("TryLockAsync", err)
				holds = append(holds, h)
			}
		}
		time.Sleep(manyLeases)
		for _, m := range kinds(b.Engine) {
			b.wantNote(m, note)
		}
		for _, h := range holds {
			b.unlock(h)
		}
		time.Sleep(time.Minute) // of FenceTTL
	}))
	t.Run("is that of the hold, also when it is handed on", specClean(engine.Options{}, func(b *bubble) {
		m := b.Mutex("stock:7")
		first := b.lock(m, noted)
		second, third := b.queue(m), b.queue(m, engine.WithNote("third"))
		b.wantNote(m, note)
		b.unlock(first)
		b.wantNote(m, "")
		if h := second.granted(); h.TenureID() != first.TenureID() {
			b.Error("it was not handed on")
		}
		b.unlock(second.hold)
		b.wantNote(m, "third")
		b.unlock(third.granted())
	}))
	t.Run("is there when the call has returned, also of a lock that was handed on many times", specClean(engine.Options{}, func(b *bubble) {
		m := b.Mutex("stock:7")
		var callers sync.WaitGroup
		for i := range 3 {
			callers.Go(func() {
				for range 100 {
					mine := fmt.Sprint("caller ", i)
					h, err := m.Lock(b.Context(), engine.WithNote(mine))
					b.wantNil("Lock", err)
					if note := b.inspect(m).Note; note != mine {
						b.Errorf("the note is %q, want %q", note, mine)
					}
					b.unlock(h)
				}
			})
		}
		callers.Wait()
		if n := b.Stats().Handoffs; n < 250 {
			b.Errorf("it was handed on %d times, want most of 300", n)
		}
		synctest.Wait()
	}))
	t.Run("is in the error of a call that has a note", spec(engine.Options{}, func(b *bubble) {
		b.lock(b.Mutex("stock:7"), noted)
		m := b.another(engine.Options{}).Mutex("stock:7")
		_, err := m.TryLock(b.Context())
		if held := (*engine.HeldError)(nil); !errors.As(err, &held) || held.Note != "" {
			b.Errorf("without a note: %v", err)
		}
		_, waited := m.Lock(b.Context(), engine.WithNote("mine"), engine.WithWait(time.Second))
		for _, err := range []error{testkit.ResultOf(m.TryLock(b.Context(), engine.WithNote("mine"))), waited} {
			if held := (*engine.HeldError)(nil); !errors.As(err, &held) || held.Note != note || !strings.Contains(err.Error(), "for "+note) {
				b.Errorf("%v, want the note of the holder", err)
			}
		}
		b.wantIs("waited", waited, engine.ErrWaitTimeout)
	}))
	t.Run("takes nothing with a text that cannot be shown", specClean(engine.Options{}, func(b *bubble) {
		all, err := b.All("a", "b")
		b.wantNil("All", err)
		for _, text := range []string{strings.Repeat("x", 257), "a\nb", "\x1b[31m", "\xff", "a\x00", "\u202e", strings.Repeat("é", 129), "\ufffd"} {
			_, err := b.Mutex("stock:7").Lock(b.Context(), engine.WithNote(text))
			b.wantIs("a note of "+text, err, engine.ErrInvalid)
			_, err = all.TryLock(b.Context(), engine.WithNote(text))
			b.wantIs("of several", err, engine.ErrInvalid)
		}
		_, err = b.Limit("limit", 3).Lock(b.Context(), noted)
		b.wantIs("permits", err, engine.ErrInvalid)
		b.wantIs("a semaphore", b.Semaphore("s").Acquire(b.Context(), 1, noted), engine.ErrInvalid)
		b.wantKeys()
		b.unlock(b.lock(b.Mutex("stock:7"), engine.WithNote(strings.Repeat("x", 256)), engine.WithNote("")))
	}))
	t.Run("is kept for a fixed lease, and extended with it", specClean(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"), noted, engine.WithLease(10*time.Second))
		b.wantNil("Extend", h.Extend(b.Context(), time.Minute))
		time.Sleep(50 * time.Second)
		b.wantNote(b.Mutex("stock:7"), note)
		time.Sleep(11 * time.Second)
		b.wantEnded(h, engine.ErrLost)
	}))
	t.Run("is deleted with the engine, and shows for nobody else", spec(engine.Options{}, func(b *bubble) {
		e := b.another(engine.Options{})
		h := b.lock(e.Mutex("stock:7"), noted)
		lost := b.lock(e.Mutex("stock:8"), noted)
		b.redis.Lose("stock:8")
		b.lock(b.Mutex("stock:8"))
		b.wantNote(b.Mutex("stock:8"), "")
		synctest.Wait()
		b.wantNil("Close", e.Close())
		b.wantKeys("stock:8")
		if h.Err() == nil || lost.Err() == nil {
			b.Error("held after Close")
		}
		if _, is := scripts.Derived(scripts.NoteKey("stock:7", h.TenureID())); !is {
			b.Error("a note's key can be locked")
		}
	}))
	t.Run("is on all members of locks of several", specClean(engine.Options{}, func(b *bubble) {
		all, err := b.All("a", "b")
		b.wantNil("All", err)
		h := b.lock(all, noted)
		b.wantNote(b.Mutex("a"), note)
		b.wantNote(b.Mutex("b"), note)
		b.unlock(h)
	}))
}
