package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// mutexes are the kinds whose names can stay taken without a hold.
var mutexes = map[string]func(*engine.Engine, string) *engine.Mutex{
	"mutex": (*engine.Engine).Mutex, "fenced": (*engine.Engine).FencedMutex, "spin": (*engine.Engine).SpinMutex, "simple": (*engine.Engine).SimpleMutex, "fair": (*engine.Engine).FairMutex,
}

// eachMutex runs a spec for each of them.
func eachMutex(t *testing.T, what string, opts engine.Options, test func(b *bubble, of func(*engine.Engine, string) *engine.Mutex)) {
	for kind, of := range mutexes {
		t.Run(kind+" "+what, spec(opts, func(b *bubble) { test(b, of) }))
	}
}

// stays reports whether a min hold has that much left: the grant counts from when the clock is read after it, 10 ms later at most.
func stays(left, want time.Duration) bool { return left >= want && left <= want+10*time.Millisecond }

func (b *bubble) wantStays(name string, want time.Duration) {
	b.Helper()
	if left := b.ttl(name); !stays(left, want) {
		b.Errorf("%s stays taken for %v, want %v", name, left, want)
	}
}

// wantFree fails the test unless nobody has the lock in Redis.
func (b *bubble) wantFree(name string) {
	b.Helper()
	if s := b.state(name); s.Locked {
		b.Fatalf("%s is taken: %+v", name, s)
	}
}

// invariant: detached-name-stays
func TestSpecMinHold(t *testing.T) {
	t.Parallel()
	eachMutex(t, "stays taken after Unlock until it is over, here and elsewhere", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		granted := time.Now()
		h := b.lock(of(b.Engine, "job"), engine.WithMinHold(10*time.Second))
		here, there := b.queue(of(b.Engine, "job")), b.queue(of(b.another(engine.Options{}), "job"))
		time.Sleep(3 * time.Second)
		b.unlock(h)
		b.wantEnded(h, engine.ErrUnlocked)
		if at := time.Now(); at.Sub(granted) != 3*time.Second {
			b.Errorf("Unlock took %v", at.Sub(granted)-3*time.Second)
		}
		s, err := of(b.Engine, "job").Inspect(b.Context())
		b.wantNil("Inspect", err)
		if !s.Locked || s.Ours || !s.OwnerID.Detached || !stays(s.TTL, 7*time.Second) {
			b.Errorf("after Unlock it is %+v", s)
		}
		sleepUntil(granted.Add(9 * time.Second))
		here.wantWaiting()
		there.wantWaiting()
		_, err = of(b.Engine, "job").TryLock(b.Context())
		b.wantIs("TryLock", err, engine.ErrHeld)
		next := []*waiting{here, there}
		select {
		case <-here.answered:
		case <-there.answered:
			next[0], next[1] = there, here
		}
		first := next[0].granted()
		if late := next[0].at.Sub(granted) - 10*time.Second; late < 0 || late > 200*time.Millisecond { // pollers sleep 128 ms
			b.Errorf("the next had it %v after the min hold", late)
		}
		b.unlock(first)
		b.unlock(next[1].granted())
	})
	eachMutex(t, "is free at once when the min hold is over", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "job"), engine.WithMinHold(10*time.Second))
		time.Sleep(10*time.Second + 10*time.Millisecond)
		b.unlock(h)
		if s := b.state("job"); s.Locked {
			b.Errorf("it is %+v", s)
		}
	})
	eachMutex(t, "stays taken when the engine is closed", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		other := b.another(engine.Options{})
		b.lock(of(other, "job"), engine.WithMinHold(time.Hour))
		other.Close()
		if s := b.state("job"); !s.OwnerID.Detached || !stays(s.TTL, time.Hour) {
			b.Errorf("it is %+v", s)
		}
	})
	eachMutex(t, "is covered by the key from the grant on, also beyond the watchdog's lease", engine.Options{Lease: time.Minute}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "job"), engine.WithMinHold(manyLeases))
		if left := b.ttl("job"); left != manyLeases {
			b.Errorf("the key lasts %v", left)
		}
		time.Sleep(manyLeases - 30*time.Second)
		b.wantHeld(h)
		if left := b.ttl("job"); left < 40*time.Second || left > time.Minute { // renewed by the watchdog's lease
			b.Errorf("near the end the key lasts %v", left)
		}
		b.unlock(h)
		b.wantStays("job", 30*time.Second)
	})
	eachMutex(t, "of a re-entry counts from the re-entry", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		o := engine.NewOwner()
		outer := b.lock(of(b.Engine, "job"), engine.WithOwner(o))
		time.Sleep(time.Second)
		inner := b.lock(of(b.Engine, "job"), engine.WithOwner(o), engine.WithMinHold(time.Minute))
		b.unlock(inner)
		b.wantHeld(outer)
		b.unlock(outer)
		b.wantStays("job", time.Minute)
	})
	eachMutex(t, "ends with ForceUnlock", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "job"), engine.WithMinHold(time.Hour))
		freed, err := of(b.Engine, "job").ForceUnlock(b.Context())
		if !freed || err != nil {
			b.Errorf("ForceUnlock of a hold: %v, %v", freed, err)
		}
		b.wantEnded(h, engine.ErrLost)
		b.unlock(b.lock(of(b.Engine, "job"), engine.WithMinHold(time.Hour)))
		if freed, err := of(b.another(engine.Options{}), "job").ForceUnlock(b.Context()); !freed || err != nil {
			b.Errorf("ForceUnlock of what stayed taken: %v, %v", freed, err)
		}
		b.unlock(b.lock(of(b.Engine, "job")))
	})
	t.Run("a grant after a handoff has its own time", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("job"))
		next := b.queue(b.Mutex("job"), engine.WithMinHold(time.Hour))
		b.unlock(h)
		b.unlock(next.wantGrantedNow())
		b.wantStays("job", time.Hour)
	}))
	t.Run("is refused where it makes no sense", spec(engine.Options{}, func(b *bubble) {
		all, err := engine.Multi(b.Mutex("a"), b.Mutex("b"))
		b.wantNil("Multi", err)
		for _, l := range []engine.Locker{all, b.RWMutex("rw").Reader(), b.RWMutex("rw").Writer()} {
			_, err := l.Lock(b.Context(), engine.WithMinHold(time.Second))
			b.wantIs(l.Name(), err, engine.ErrInvalid)
			if l == all {
				testkit.Mentions(b, err, "WithMinHold on kind multi:")
			}
		}
		_, err = b.PermitSemaphore("p").Acquire(b.Context(), 1, engine.WithMinHold(time.Second))
		b.wantIs("permits", err, engine.ErrInvalid)
		for _, opts := range [][]engine.LockOption{
			{engine.WithMinHold(0)}, {engine.WithMinHold(-1)}, {engine.WithMinHold(engine.MaxLease + 1)},
			{engine.WithLease(time.Second), engine.WithMinHold(time.Second + 1)}, {engine.WithMinHold(time.Minute), engine.WithLease(time.Second)},
		} {
			_, err := b.Mutex("job").TryLock(b.Context(), opts...)
			b.wantIs("TryLock", err, engine.ErrInvalid)
		}
		h := b.lock(b.Mutex("job"), engine.WithLease(time.Second), engine.WithMinHold(time.Second))
		b.unlock(h)
	}))
}

// invariant: detached-name-stays
func TestSpecDetach(t *testing.T) {
	t.Parallel()
	eachMutex(t, "is adopted by another engine, and stays taken throughout", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "stock:7"))
		before, fenced := h.Token()
		id, err := h.Detach(b.Context(), time.Minute)
		b.wantNil("Detach", err)
		b.wantEnded(h, engine.ErrUnlocked)
		if !strings.HasPrefix(id, h.TenureID()) || b.state("stock:7").Owner != id {
			b.Errorf("the id is %q, in Redis stands %q", id, b.state("stock:7").Owner)
		}
		b.wantTTL("stock:7", time.Minute)
		time.Sleep(59 * time.Second)
		_, err = of(b.Engine, "stock:7").TryLock(b.Context())
		b.wantIs("TryLock", err, engine.ErrHeld)
		other := b.another(engine.Options{})
		adopted, err := of(other, "stock:7").Adopt(b.Context(), id)
		b.wantNil("Adopt", err)
		b.wantTTL("stock:7", 30*time.Second)
		if after, _ := adopted.Token(); fenced && after <= before {
			b.Errorf("the token is %d after %d", after, before)
		}
		_, err = of(b.Engine, "stock:7").Adopt(b.Context(), id)
		b.wantIs("a second Adopt", err, engine.ErrLost)
		testkit.Mentions(b, err, "lock lost while held: nobody has it under that owner id")
		time.Sleep(manyLeases)
		b.wantHeld(adopted)
		b.wantNil("Unlock", adopted.Unlock(b.Context()))
		b.unlock(b.lock(of(b.Engine, "stock:7")))
	})
	eachMutex(t, "ends by itself when nobody adopts it", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "stock:7"))
		waiter := b.queue(of(b.another(engine.Options{}), "stock:7"))
		id, err := h.Detach(b.Context(), time.Minute)
		b.wantNil("Detach", err)
		began := time.Now()
		next := waiter.granted()
		if took := waiter.at.Sub(began); took < time.Minute || took > time.Minute+200*time.Millisecond {
			b.Errorf("the next had it after %v", took)
		}
		_, err = of(b.Engine, "stock:7").Adopt(b.Context(), id)
		b.wantIs("Adopt", err, engine.ErrLost)
		b.unlock(next)
	})
	eachMutex(t, "is adopted before those who wait here", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "stock:7"))
		id, err := h.Detach(b.Context(), time.Minute)
		b.wantNil("Detach", err)
		waiter := b.queue(of(b.Engine, "stock:7"))
		time.Sleep(time.Second)
		adopted, err := of(b.Engine, "stock:7").Adopt(b.Context(), id)
		b.wantNil("Adopt", err)
		waiter.wantWaiting()
		b.unlock(adopted)
		b.unlock(waiter.granted())
	})
	eachMutex(t, "goes to one of many who adopt it", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "stock:7"))
		id, err := h.Detach(b.Context(), time.Minute)
		b.wantNil("Detach", err)
		engines := []*engine.Engine{b.Engine, b.another(engine.Options{}), b.another(engine.Options{})}
		answers := make(chan error, 30)
		for i := range 30 {
			go func() {
				_, err := of(engines[i%3], "stock:7").Adopt(b.Context(), id)
				answers <- err
			}()
		}
		won := 0
		for range 30 {
			if err := <-answers; err == nil {
				won++
			} else {
				b.wantIs("Adopt", err, engine.ErrLost)
			}
		}
		if won != 1 {
			b.Errorf("%d have adopted it", won)
		}
	})
	own := func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "stock:7"), engine.WithMinHold(time.Hour))
		before, fenced := h.Token()
		here, there := b.queue(of(b.Engine, "stock:7")), b.queue(of(b.another(engine.Options{}), "stock:7"))
		work := h.Context(b.Context())
		adopted, err := of(b.Engine, "stock:7").Adopt(b.Context(), h.TenureID())
		if err != nil {
			b.Fatalf("Adopt: %v", err)
		}
		if !isClosed(work.Done()) || !isClosed(h.Done()) { // without a wait: it ended before Adopt returned
			b.Error("the hold that was adopted goes on")
		}
		b.wantIs("cause", causeOf(work), engine.ErrLost)
		b.wantIs("Err", h.Err(), engine.ErrLost)
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
		if after, _ := adopted.Token(); fenced && after <= before {
			b.Errorf("the token is %d after %d", after, before)
		}
		if s := b.state("stock:7"); s.Owner != adopted.TenureID() || s.Count != 1 || s.Owner == h.TenureID() {
			b.Errorf("it is %+v", s)
		}
		time.Sleep(2 * time.Minute)
		b.wantHeld(adopted)
		here.wantWaiting()
		there.wantWaiting()
		b.unlock(adopted)
		select {
		case <-here.answered:
		case <-there.answered:
			here, there = there, here
		}
		b.unlock(here.granted())
		b.unlock(there.granted())
		b.unlock(b.lock(of(b.Engine, "stock:7")))
	}
	eachMutex(t, "is not needed for an Adopt by the same engine, which ends the hold", engine.Options{}, own)
	eachMutex(t, "is not needed for the holds of an Owner, which all end, also when this Owner adopts them", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		me := engine.WithOwner(engine.NewOwner())
		outer, inner := b.lock(of(b.Engine, "stock:7"), me), b.lock(of(b.Engine, "stock:7"), me, engine.WithLease(time.Hour))
		extended := make(chan error, 1)
		b.redis.SetLatency(200 * time.Millisecond)
		go func() { extended <- inner.Extend(b.Context(), 2*time.Hour) }()
		synctest.Wait()
		adopted, err := of(b.Engine, "stock:7").Adopt(b.Context(), outer.TenureID(), me)
		b.redis.SetLatency(0)
		if err != nil {
			b.Fatalf("Adopt while a renewal is on its way: %v", err)
		}
		b.wantNil("Extend", <-extended)
		b.wantEnded(outer, engine.ErrLost)
		b.wantEnded(inner, engine.ErrLost)
		again := b.lock(of(b.Engine, "stock:7"), me)
		if n := adopted.Count(); n != 2 {
			b.Errorf("Count = %d", n)
		}
		b.unlock(again)
		b.unlock(adopted)
		b.wantFree("stock:7")
	})
	eachMutex(t, "is not needed: after an Adopt whose answer is lost the name is free", engine.Options{}, func(b *bubble, of func(*engine.Engine, string) *engine.Mutex) {
		h := b.lock(of(b.Engine, "stock:7"))
		b.redis.LoseAnswer()
		_, err := of(b.Engine, "stock:7").Adopt(b.Context(), h.TenureID())
		b.wantIs("Adopt", err, engine.ErrUncertain)
		b.wantEnded(h, engine.ErrLost)
		time.Sleep(time.Second)
		b.wantFree("stock:7")
		time.Sleep(10 * time.Second)
		b.unlock(b.lock(of(b.Engine, "stock:7")))
	})
	t.Run("adopts with an Owner who re-enters", spec(engine.Options{}, func(b *bubble) {
		id, err := b.lock(b.Mutex("stock:7")).Detach(b.Context(), time.Minute)
		b.wantNil("Detach", err)
		o := engine.NewOwner()
		outer, err := b.Mutex("stock:7").Adopt(b.Context(), id, engine.WithOwner(o))
		b.wantNil("Adopt", err)
		inner := b.lock(b.Mutex("stock:7"), engine.WithOwner(o))
		_, err = inner.Detach(b.Context(), time.Minute)
		b.wantIs("Detach of a re-entry", err, engine.ErrInvalid)
		b.wantHeld(inner)
		b.unlock(inner)
		b.unlock(outer)
	}))
	t.Run("says why it cannot", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		for _, lease := range []time.Duration{0, -1, time.Millisecond, engine.MaxLease + 1} {
			_, err := h.Detach(b.Context(), lease)
			b.wantIs("Detach", err, engine.ErrInvalid)
		}
		b.wantHeld(h)
		b.unlock(h)
		_, err := h.Detach(b.Context(), time.Minute)
		b.wantIs("Detach after Unlock", err, engine.ErrUnlocked)
		h = b.lock(b.Mutex("stock:7"))
		b.redis.Lose("stock:7")
		id, err := h.Detach(b.Context(), time.Minute)
		if b.wantIs("Detach of a lock that is gone", err, engine.ErrLost); id != "" {
			b.Errorf("it has the id %q", id)
		}
		_, err = b.Mutex("stock:7").Adopt(b.Context(), "nobody")
		b.wantIs("Adopt of a free lock", err, engine.ErrLost)
		testkit.Mentions(b, err, `adopt "stock:7"`, "nobody has it under that owner id")
		for _, id := range []string{"", strings.Repeat("x", 257)} {
			_, err = b.Mutex("stock:7").Adopt(b.Context(), id)
			b.wantIs("Adopt", err, engine.ErrInvalid)
		}
		_, err = b.Mutex("stock:7").Adopt(b.Context(), "x", engine.WithWait(time.Second))
		b.wantIs("Adopt with WithWait", err, engine.ErrInvalid)
		r := b.lock(b.RWMutex("rw").Reader())
		_, err = r.Detach(b.Context(), time.Minute)
		b.wantIs("Detach of a reader", err, engine.ErrInvalid)
		b.wantHeld(r)
		all, err := engine.Multi(b.Mutex("a"), b.Mutex("b"))
		b.wantNil("Multi", err)
		_, err = b.lock(all).Detach(b.Context(), time.Minute)
		b.wantIs("Detach of several", err, engine.ErrInvalid)
		testkit.Mentions(b, err, "not one of kind multi")
		_, err = b.RWMutex("rw").Reader().Adopt(b.Context(), r.TenureID())
		b.wantIs("Adopt of a reader", err, engine.ErrInvalid)
		_, err = b.Mutex("rw").Adopt(b.Context(), "mode")
		b.wantIs("Adopt of another kind", err, engine.ErrInvalid)
		_, err = b.another(engine.Options{}).Mutex("rw").Adopt(b.Context(), "mode")
		b.wantIs("Adopt of another kind elsewhere", err, engine.ErrForeignKey)
	}))
	t.Run("while Redis cannot be reached nothing is detached that was not", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.Mutex("stock:7"))
		b.goDown()
		ctx, stop := context.WithTimeout(b.Context(), time.Second)
		defer stop()
		id, err := h.Detach(ctx, time.Hour)
		b.wantIs("Detach", err, engine.ErrUncertain, context.DeadlineExceeded)
		_, err = b.Mutex("stock:7").Adopt(b.Context(), id)
		b.wantIs("Adopt", err, engine.ErrNotSent)
		b.redis.SetDown(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := b.state("stock:7"); s.Owner != id {
			b.Errorf("after the outage it is %+v", s)
		}
	}))
}
