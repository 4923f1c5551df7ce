package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func (b *bubble) inspect(m *engine.Mutex) engine.State {
	b.Helper()
	state, err := m.Inspect(b.Context())
	b.wantNil("Inspect", err)
	return state
}

// invariant: readers-share-one-tenure
func TestSpecReaders(t *testing.T) {
	t.Parallel()
	t.Run("read together, and exclude writers", specClean(engine.Options{}, func(b *bubble) {
		rw, other := b.RWMutex("stock:7"), b.another(engine.Options{}).RWMutex("stock:7")
		first, second, third := b.lock(rw.Reader()), b.lock(rw.Reader()), b.lock(other.Reader())
		for reader, own := range map[*engine.Mutex]*engine.Hold{rw.Reader(): first, other.Reader(): third} {
			if s, err := reader.Inspect(b.Context()); err != nil || !s.Ours || s.Owner != own.TenureID() {
				b.Errorf("Inspect beside a reader of another process: %+v, %v", s, err)
			}
		}
		_, err := rw.Writer().TryLock(b.Context())
		b.wantIs("TryLock of the writer", err, engine.ErrHeld)
		_, err = other.Writer().TryLock(b.Context())
		b.wantIs("TryLock of another process's writer", err, engine.ErrHeld)
		writer := b.queue(rw.Writer())
		b.unlock(first)
		b.unlock(second)
		writer.wantWaiting()
		b.unlock(third)
		b.unlock(writer.wantGrantedNow())
	}))
	t.Run("share one hold in Redis", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		before := b.Stats().Attempts
		var holds []*engine.Hold
		for range 1000 {
			holds = append(holds, b.lock(rw.Reader()))
		}
		b.wantKeys("stock:7", "{stock:7}:"+holds[0].TenureID()+":rwlock_timeout:1")
		if asked := b.Stats().Attempts - before; asked != 1 {
			b.Errorf("1,000 readers asked Redis %d times, want once", asked)
		}
		for _, h := range holds {
			b.wantHeld(h)
			b.unlock(h)
		}
	}))
	t.Run("who comes after HandoffTime asks whether it stands", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		tenures := make(map[string]bool)
		var holds []*engine.Hold
		before := b.Stats().Attempts
		for range 5 {
			for range 10 {
				h := b.lock(rw.Reader())
				tenures[h.TenureID()] = true
				holds = append(holds, h)
			}
			time.Sleep(11 * time.Millisecond)
		}
		if asked := b.Stats().Attempts - before; len(tenures) != 1 || asked != 5 {
			b.Errorf("%d tenures, %d questions; want 1 and 5", len(tenures), asked)
		}
		for _, h := range holds {
			b.unlock(h)
		}
	}))
	t.Run("who comes after others waited does not wait as they did", spec(engine.Options{}, func(b *bubble) {
		other, m := b.another(engine.Options{}).RWMutex("stock:7"), b.RWMutex("stock:7")
		writer := b.lock(other.Writer())
		waits := b.queue(m.Reader())
		time.Sleep(50 * time.Millisecond)
		b.unlock(writer)
		first := waits.granted()
		time.Sleep(20 * time.Millisecond) // over HandoffTime: the next reader asks Redis
		began := time.Now()
		second := b.lock(m.Reader())
		if waited := time.Since(began); waited > 600*time.Millisecond {
			b.Errorf("the second reader waited for %v", waited)
		}
		b.unlock(second)
		b.unlock(first)
	}))
	t.Run("are renewed, each with the key of its hold", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		h := b.lock(rw.Reader())
		hold := "{stock:7}:" + h.TenureID() + ":rwlock_timeout:1"
		time.Sleep(25 * time.Second)
		b.redis.Lose(hold) // is made anew
		time.Sleep(10 * time.Second)
		b.wantHeld(h)
		b.wantKeys("stock:7", hold)
		if ttl := b.inspect(rw.Reader()).TTL; ttl != 25*time.Second {
			b.Errorf("TTL %v after 35 s, want 25s", ttl)
		}
		b.unlock(h)
	}))
	t.Run("with a fixed lease end by themselves, and the lock lasts as long as the longest", specClean(engine.Options{}, func(b *bubble) {
		rw, other := b.RWMutex("stock:7"), b.another(engine.Options{}).RWMutex("stock:7")
		start := time.Now()
		short := b.lock(rw.Reader(), engine.WithLease(2*time.Second))
		long := b.lock(other.Reader(), engine.WithLease(8*time.Second))
		writer := b.queue(rw.Writer())
		time.Sleep(2 * time.Second)
		b.wantEnded(short, engine.ErrLost)
		b.wantHeld(long)
		b.unlock(writer.granted())
		if waited := time.Since(start); waited < 7900*time.Millisecond || waited > 8100*time.Millisecond {
			b.Errorf("the writer got in after %v, want 8s", waited)
		}
		b.wantEnded(long, engine.ErrLost)
	}))
	t.Run("with a fixed lease can be extended", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		h := b.lock(rw.Reader(), engine.WithLease(10*time.Minute))
		time.Sleep(9 * time.Minute)
		b.wantHeld(h)
		if ttl := b.inspect(rw.Reader()).TTL; ttl < 45*time.Second {
			b.Errorf("TTL %v a minute before the end", ttl)
		}
		if err := h.Extend(b.Context(), 5*time.Minute); err != nil {
			b.Errorf("Extend: %v", err)
		}
		time.Sleep(4 * time.Minute)
		b.wantHeld(h)
		b.unlock(h)
	}))
	t.Run("with a fixed lease give the lock its length again when a renewal of Redisson's has cut it", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		h := b.lock(rw.Reader(), engine.WithLease(time.Hour))
		b.redis.Do("PEXPIRE", "stock:7", "30000")
		time.Sleep(11 * time.Second)
		if ttl := b.inspect(rw.Reader()).TTL; ttl < 59*time.Minute {
			b.Errorf("TTL %v after a renewal, want nearly an hour", ttl)
		}
		if left := time.Until(h.Deadline()); left > 30*time.Second {
			b.Errorf("the deadline is %v away, further than others may lower the TTL", left)
		}
		b.unlock(h)
	}))
	t.Run("that are lost end, whoever shared the hold", spec(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		first, second := b.lock(rw.Reader()), b.lock(rw.Reader())
		b.redis.Lose("stock:7")
		time.Sleep(10 * time.Second)
		b.wantEnded(first, engine.ErrLost)
		b.wantEnded(second, engine.ErrLost)
	}))
	t.Run("read again by Owner while a writer waits", specClean(engine.Options{}, func(b *bubble) {
		rw, me := b.RWMutex("stock:7"), engine.NewOwner()
		outer := b.lock(rw.Reader(), engine.WithOwner(me))
		writer := b.queue(rw.Writer())
		late := b.queue(rw.Reader())
		time.Sleep(time.Second)
		inner := b.lock(rw.Reader(), engine.WithOwner(me))
		longer := b.lock(rw.Reader(), engine.WithOwner(me), engine.WithLease(time.Minute))
		if n := inner.Count(); n != 3 {
			b.Errorf("Count = %d, want 3", n)
		}
		writer.wantWaiting()
		late.wantWaiting()
		for _, h := range []*engine.Hold{outer, inner, longer} {
			b.unlock(h)
		}
		h := writer.wantGrantedNow()
		late.wantWaiting()
		b.unlock(h)
		b.unlock(late.wantGrantedNow())
	}))
	t.Run("that ask for the writer by the same Owner are told of the deadlock at once", spec(engine.Options{}, func(b *bubble) {
		rw, me := b.RWMutex("stock:7"), engine.NewOwner()
		block := b.lock(rw.Writer())
		read, write := b.queue(rw.Reader(), engine.WithOwner(me)), b.queue(rw.Writer(), engine.WithOwner(me))
		b.unlock(block)
		h := read.wantGrantedNow()
		if write.waits() {
			b.Fatal("the writer still waits for itself")
		}
		b.wantIs("the queued writer", write.err, engine.ErrDeadlock)
		_, err := rw.Writer().Lock(b.Context(), engine.WithOwner(me))
		b.wantIs("Lock", err, engine.ErrDeadlock)
		_, err = rw.Writer().TryLock(b.Context(), engine.WithOwner(me))
		b.wantIs("TryLock", err, engine.ErrDeadlock)
		b.unlock(h)
		b.unlock(b.lock(rw.Writer(), engine.WithOwner(me)))
	}))
	t.Run("that go away let those behind them in", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		h := b.lock(rw.Reader())
		writer := b.queue(rw.Writer(), engine.WithWait(5*time.Second))
		reader := b.queue(rw.Reader())
		reader.wantWaiting()
		<-writer.answered
		b.wantIs("the writer", writer.err, engine.ErrWaitTimeout, engine.ErrHeld)
		b.unlock(reader.wantGrantedNow())
		b.unlock(h)
	}))
}

// invariant: readers-share-one-tenure
func TestSpecWriter(t *testing.T) {
	t.Parallel()
	t.Run("lets all waiting readers in together", spec(engine.Options{}, func(b *bubble) {
		rw, other := b.RWMutex("stock:7"), b.another(engine.Options{}).RWMutex("stock:7")
		h := b.lock(rw.Writer())
		var readers []*waiting
		for range 10 {
			readers = append(readers, b.queue(rw.Reader()), b.queue(other.Reader()))
		}
		b.unlock(h)
		start := time.Now()
		for _, r := range readers {
			r.granted()
		}
		if d := time.Since(start); d > 100*time.Millisecond {
			b.Errorf("the last reader got in after %v", d)
		}
	}))
	t.Run("is handed on to writers without asking Redis", specClean(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		h := b.lock(rw.Writer())
		before := b.Stats()
		var writers []*waiting
		for range 10 {
			writers = append(writers, b.queue(rw.Writer()))
		}
		for _, w := range writers {
			b.unlock(h)
			h = w.wantGrantedNow()
		}
		if after := b.Stats(); after.Attempts != before.Attempts || after.Handoffs-before.Handoffs != 10 {
			b.Errorf("attempts %d, handoffs %d", after.Attempts-before.Attempts, after.Handoffs-before.Handoffs)
		}
		b.unlock(h)
	}))
	t.Run("writes and reads again by its Owner, and becomes a reader when its last write ends", specClean(engine.Options{}, func(b *bubble) {
		rw, other, me := b.RWMutex("stock:7"), b.another(engine.Options{}).RWMutex("stock:7"), engine.NewOwner()
		outer := b.lock(rw.Writer(), engine.WithOwner(me))
		inner := b.lock(rw.Writer(), engine.WithOwner(me))
		read := b.lock(rw.Reader(), engine.WithOwner(me))
		if outer.Count() != 2 || read.Count() != 1 {
			b.Errorf("counts %d and %d, want 2 and 1", outer.Count(), read.Count())
		}
		here, there := b.queue(rw.Reader()), b.queue(other.Reader())
		b.unlock(inner)
		here.wantWaiting()
		b.unlock(outer) // a downgrade, that wakes other readers
		first, second := here.wantGrantedNow(), there.wantGrantedNow()
		writer := b.queue(other.Writer())
		_, err := rw.Writer().TryLock(b.Context(), engine.WithOwner(me))
		b.wantIs("write after the downgrade", err, engine.ErrDeadlock)
		b.unlock(first)
		b.unlock(second)
		time.Sleep(time.Minute)
		b.wantHeld(read)
		writer.wantWaiting()
		b.unlock(read)
		b.unlock(writer.granted())
	}))
	t.Run("stays the writer when its read ends first", specClean(engine.Options{}, func(b *bubble) {
		rw, me := b.RWMutex("stock:7"), engine.NewOwner()
		write := b.lock(rw.Writer(), engine.WithOwner(me))
		read := b.lock(rw.Reader(), engine.WithOwner(me))
		if freed, err := rw.Reader().ForceUnlock(b.Context()); freed || err != nil {
			b.Errorf("ForceUnlock of readers beside a writer who reads: %v, %v", freed, err)
		}
		b.unlock(read)
		reader := b.queue(rw.Reader())
		time.Sleep(time.Minute)
		b.wantHeld(write)
		reader.wantWaiting()
		b.unlock(write)
		b.unlock(reader.wantGrantedNow())
	}))
	t.Run("becomes a reader also when a fixed lease ends its write", specClean(engine.Options{}, func(b *bubble) {
		rw, me := b.RWMutex("stock:7"), engine.NewOwner()
		write := b.lock(rw.Writer(), engine.WithOwner(me), engine.WithLease(5*time.Second))
		read := b.lock(rw.Reader(), engine.WithOwner(me))
		reader := b.queue(rw.Reader())
		time.Sleep(5 * time.Second)
		b.wantEnded(write, engine.ErrLost)
		b.unlock(reader.wantGrantedNow())
		time.Sleep(time.Minute)
		b.wantHeld(read)
		b.unlock(read)
	}))
	t.Run("extends its lease when its Owner needs more", specClean(engine.Options{}, func(b *bubble) {
		rw, me := b.RWMutex("stock:7"), engine.NewOwner()
		short := b.lock(rw.Writer(), engine.WithOwner(me), engine.WithLease(5*time.Second))
		long := b.lock(rw.Writer(), engine.WithOwner(me), engine.WithLease(time.Minute))
		time.Sleep(30 * time.Second)
		b.wantEnded(short, engine.ErrLost)
		b.wantHeld(long)
		b.unlock(long)
	}))
}

func TestSpecRWViews(t *testing.T) {
	t.Parallel()
	t.Run("tell readers from writers", spec(engine.Options{}, func(b *bubble) {
		rw := b.RWMutex("stock:7")
		for _, m := range []*engine.Mutex{rw.Reader(), rw.Writer()} {
			if s := b.inspect(m); s.Locked {
				b.Errorf("a free lock is %+v", s)
			}
			h := b.lock(m)
			other, kind := rw.Writer(), engine.KindRead
			if h.TenureID() != b.inspect(rw.Reader()).Owner {
				other, kind = rw.Reader(), engine.KindWrite
			}
			s := b.inspect(m)
			want := engine.State{Locked: true, Ours: true, Owner: h.TenureID(), OwnerID: s.OwnerID, Count: 1, TTL: 30 * time.Second, Kind: kind, Since: s.Since}
			if s != want || s.OwnerID.Write != (kind == engine.KindWrite) {
				b.Errorf("its own view: %+v, want %+v", s, want)
			}
			if s := b.inspect(other); s != (engine.State{Kind: kind}) {
				b.Errorf("the other's view: %+v, want it free", s)
			}
			b.unlock(h)
		}
	}))
	t.Run("force only their own mode", specClean(engine.Options{}, func(b *bubble) {
		rw, other := b.RWMutex("stock:7"), b.another(engine.Options{}).RWMutex("stock:7")
		force := func(m *engine.Mutex, want bool) {
			b.Helper()
			freed, err := m.ForceUnlock(b.Context())
			if err != nil || freed != want {
				b.Errorf("ForceUnlock = %t, %v; want %t", freed, err, want)
			}
		}
		first, second := b.lock(rw.Reader()), b.lock(other.Reader())
		force(rw.Writer(), false)
		b.wantHeld(first)
		force(rw.Reader(), true)
		b.wantEnded(first, engine.ErrLost)
		time.Sleep(10 * time.Second)
		b.wantEnded(second, engine.ErrLost)
		b.wantKeys()
		write := b.lock(rw.Writer())
		force(other.Reader(), false)
		b.wantHeld(write)
		force(other.Writer(), true)
		time.Sleep(10 * time.Second)
		b.wantEnded(write, engine.ErrLost)
	}))
	t.Run("are another kind than a mutex", spec(engine.Options{}, func(b *bubble) {
		rw, other := b.RWMutex("stock:7"), b.another(engine.Options{})
		h := b.lock(rw.Reader())
		_, err := b.Mutex("stock:7").TryLock(b.Context())
		b.wantIs("a mutex here", err, engine.ErrInvalid)
		_, err = other.Mutex("stock:7").TryLock(b.Context())
		b.wantIs("a mutex elsewhere", err, engine.ErrForeignKey)
		_, err = other.Mutex("stock:7").Inspect(b.Context())
		b.wantIs("Inspect of a mutex", err, engine.ErrForeignKey)
		b.unlock(h)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		m := b.lock(b.Mutex("stock:7"))
		for _, view := range []*engine.Mutex{other.RWMutex("stock:7").Reader(), other.RWMutex("stock:7").Writer()} {
			_, err = view.Lock(b.Context())
			b.wantIs("beside a mutex", err, engine.ErrForeignKey)
			_, err = view.Inspect(b.Context())
			b.wantIs("Inspect beside a mutex", err, engine.ErrForeignKey)
		}
		b.unlock(m)
	}))
}
