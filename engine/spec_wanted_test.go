package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecWanted(t *testing.T) {
	t.Parallel()
	eachMutex(t, "is closed when a caller of this process waits", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "upload"))
		wanted := h.Wanted()
		time.Sleep(15 * time.Second)
		if isClosed(wanted) {
			b.Fatal("nobody waits")
		}
		waiter := b.queue(of(b.Engine, "upload"))
		if !isClosed(wanted) || !isClosed(h.Wanted()) {
			b.Error("somebody waits, and it is open")
		}
		b.unlock(h)
		next := waiter.granted()
		b.queue(of(b.Engine, "upload"))
		if again := next.Wanted(); again == wanted {
			b.Error("two holds have one channel")
		} else if synctest.Wait(); !isClosed(again) {
			b.Error("somebody waited before Wanted was called, and it is open")
		}
		b.unlock(next)
	})
	elsewhere := map[string]func(*engine.Engine, string) *engine.Mutex{
		"mutex": (*engine.Engine).Mutex, "fenced": (*engine.Engine).FencedMutex, "fair": (*engine.Engine).FairMutex,
		"write": func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() },
	}
	for kind, of := range elsewhere {
		for fixed, opts := range map[string][]engine.LockOption{"": nil, " with a lease": {engine.WithLease(time.Hour)}} {
			t.Run(kind+fixed+" is closed when another process waits", spec(engine.Options{}, func(b *bubble) {
				h := b.lock(of(b.Engine, "upload"), opts...)
				wanted := h.Wanted()
				time.Sleep(15 * time.Second)
				if isClosed(wanted) {
					b.Fatal("nobody waits")
				}
				waiter := b.queue(of(b.another(engine.Options{}), "upload"))
				time.Sleep(300 * time.Millisecond)
				if !isClosed(wanted) {
					b.Error("somebody waits, and it is open")
				}
				b.wantHeld(h)
				b.unlock(h)
				waiter.granted()
			}))
		}
	}
	t.Run("of readers is closed when a writer waits", spec(engine.Options{}, func(b *bubble) {
		first, second := b.lock(b.RWMutex("doc").Reader()), b.lock(b.RWMutex("doc").Reader())
		wanted := []<-chan struct{}{first.Wanted(), second.Wanted()}
		b.queue(b.another(engine.Options{}).RWMutex("doc").Writer())
		time.Sleep(2300 * time.Millisecond)
		if !isClosed(wanted[0]) || !isClosed(wanted[1]) {
			b.Error("a writer waits, and it is open")
		}
	}))
	t.Run("of several locks is closed when somebody waits for one of them", spec(engine.Options{}, func(b *bubble) {
		all, err := engine.Multi(b.Mutex("a"), b.Mutex("b"))
		b.wantNil("Multi", err)
		wanted := b.lock(all).Wanted()
		b.queue(b.another(engine.Options{}).Mutex("b"))
		time.Sleep(2300 * time.Millisecond)
		if !isClosed(wanted) {
			b.Error("somebody waits, and it is open")
		}
	}))
	t.Run("of readers stays open when readers come", spec(engine.Options{}, func(b *bubble) {
		other := b.another(engine.Options{})
		wanted := b.lock(b.RWMutex("doc").Reader()).Wanted()
		for range 100 {
			b.unlock(b.lock(b.RWMutex("doc").Reader()))
			b.unlock(b.lock(other.RWMutex("doc").Reader()))
			time.Sleep(100 * time.Millisecond)
		}
		if isClosed(wanted) {
			b.Error("nobody waits for readers to leave")
		}
	}))
	t.Run("asks nothing once its hold has ended", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("upload"))
		wanted := h.Wanted()
		time.Sleep(time.Second)
		b.unlock(h)
		before := b.Stats().Batches
		time.Sleep(time.Minute)
		if sent := b.Stats().Batches - before; sent > 6 {
			b.Errorf("%d batches for a hold that has ended", sent)
		}
		if isClosed(wanted) || isClosed(h.Wanted()) {
			b.Error("nobody waited")
		}
	}))
}

// Who has waited for an earlier hold listens for a while, and waits for nobody.
func TestSpecWantedIsAFact(t *testing.T) {
	t.Parallel()
	of := map[string]func(*engine.Engine, string) engine.Locker{
		"read":  func(e *engine.Engine, name string) engine.Locker { return e.RWMutex(name).Reader() },
		"write": func(e *engine.Engine, name string) engine.Locker { return e.RWMutex(name).Writer() },
		"multi": func(e *engine.Engine, name string) engine.Locker {
			all, err := e.All(name, name+":2")
			if err != nil {
				t.Fatal(err)
			}
			return all
		},
	}
	for kind, mutex := range mutexes {
		of[kind] = func(e *engine.Engine, name string) engine.Locker { return mutex(e, name) }
	}
	for kind, lock := range of {
		others := lock
		if kind == "read" {
			others = of["write"]
		}
		for what, goes := range map[string]func(b *bubble, first *engine.Hold, other *waiting){
			"has had the lock since": func(b *bubble, first *engine.Hold, other *waiting) {
				b.unlock(first)
				b.unlock(other.granted())
			},
			"has given up": func(b *bubble, first *engine.Hold, other *waiting) {
				other.cancel(nil)
				<-other.answered
				b.unlock(first)
			},
		} {
			t.Run(kind+" stays open when whoever waited "+what, spec(engine.Options{}, func(b *bubble) {
				other := b.another(engine.Options{})
				first := b.lock(lock(b.Engine, "upload"))
				waiter := b.queue(others(other, "upload"))
				time.Sleep(200 * time.Millisecond) // a MultiLock pauses before it waits for a member
				goes(b, first, waiter)
				h := b.lock(lock(b.Engine, "upload"))
				wanted := h.Wanted()
				time.Sleep(15 * time.Second) // longer than a renewal takes to come
				if isClosed(wanted) {
					b.Error("nobody has waited since the lock was granted")
				}
				if kind == "spin" { // its waiters are not seen
					return
				}
				b.queue(others(other, "upload"))
				time.Sleep(300 * time.Millisecond)
				if !isClosed(wanted) {
					b.Error("somebody waits, and it is open")
				}
			}))
		}
		if kind == "spin" {
			continue
		}
		t.Run(kind+" is closed soon when whoever waited waits again", spec(engine.Options{}, func(b *bubble) {
			other := b.another(engine.Options{})
			first := b.lock(lock(b.Engine, "upload"))
			waiter := b.queue(others(other, "upload"))
			b.unlock(first)
			b.unlock(waiter.granted())
			wanted := b.lock(lock(b.Engine, "upload")).Wanted()
			b.queue(others(other, "upload"))
			time.Sleep(2300 * time.Millisecond)
			if !isClosed(wanted) {
				b.Error("somebody waits, and it is open")
			}
		}))
	}
}
