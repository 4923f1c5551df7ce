package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
)

func TestSpecInspect(t *testing.T) {
	t.Parallel()
	t.Run("says since when this process holds the lock, and who the owner is", spec(engine.Options{}, func(b *bubble) {
		granted := time.Now()
		h := b.lock(b.Mutex("stock:7"))
		time.Sleep(7 * time.Second)
		s := b.state("stock:7")
		if off := s.Since.Sub(granted).Abs(); off > 10*time.Millisecond {
			b.Errorf("since %v, want %v", s.Since, granted)
		}
		if s.OwnerID.Client != b.ID() || s.OwnerID.Number == 0 || s.OwnerID.Write {
			b.Errorf("owner %s is %+v", h.TenureID(), s.OwnerID)
		}
		other, err := b.another(engine.Options{}).Mutex("stock:7").Inspect(b.Context())
		b.wantNil("Inspect", err)
		if !other.Since.IsZero() || other.Ours || other.OwnerID != s.OwnerID {
			b.Errorf("another engine sees %+v", other)
		}
		b.unlock(h)
		if s := b.state("stock:7"); s != (engine.State{}) {
			b.Errorf("a free lock is %+v", s)
		}
	}))
	t.Run("says the kind that it found, whatever kind was asked", spec(engine.Options{}, func(b *bubble) {
		asked := func(name string, want engine.Kind, is ...error) {
			b.Helper()
			for _, m := range []*engine.Mutex{b.Mutex(name), b.SpinMutex(name), b.RWMutex(name).Writer()} {
				s, err := m.Inspect(b.Context())
				if s.Kind != want || len(is) == 0 && err != nil {
					b.Errorf("%v is found to be %q, %v; want %q", m, s.Kind, err, want)
				}
				b.wantIs(m.String(), err, is...)
			}
		}
		fair := b.lock(b.FairMutex("fair"))
		next := b.queue(b.FairMutex("fair"))
		for _, m := range []*engine.Mutex{b.Mutex("fair"), b.FencedMutex("fair"), b.FairMutex("fair")} {
			if s, err := m.Inspect(b.Context()); s.Kind != engine.KindFair || err != nil {
				b.Errorf("%v is found to be %q, %v", m, s.Kind, err)
			}
		}
		b.unlock(fair)
		fair = next.wantGrantedNow()
		if s, err := b.FairMutex("fair").Inspect(b.Context()); s.Kind != engine.KindFair || err != nil {
			b.Errorf("without waiters it is found to be %q, %v", s.Kind, err)
		}
		fenced := b.lock(b.FencedMutex("fenced"))
		if s, err := b.Mutex("fenced").Inspect(b.Context()); s.Kind != engine.KindFenced || err != nil {
			b.Errorf("a fenced lock is found to be %q, %v", s.Kind, err)
		}
		plain := b.lock(b.Mutex("plain"))
		s, err := b.RWMutex("plain").Reader().Inspect(b.Context())
		b.wantIs("the reader of a plain lock", err, engine.ErrForeignKey)
		if s.Kind != engine.KindMutex {
			b.Errorf("a plain lock is found to be %q", s.Kind)
		}
		reader := b.lock(b.RWMutex("rw").Reader())
		s, err = b.Mutex("rw").Inspect(b.Context())
		b.wantIs("a mutex of a read-write lock", err, engine.ErrForeignKey)
		if s.Kind != engine.KindRead {
			b.Errorf("a read lock is found to be %q", s.Kind)
		}
		permits := b.PermitSemaphore("permits")
		_, err = permits.TrySetPermits(b.Context(), 2)
		b.wantNil("TrySetPermits", err)
		held, err := permits.Acquire(b.Context(), 1)
		b.wantNil("Acquire", err)
		asked("permits", engine.KindPermits, engine.ErrForeignKey)
		_, err = b.Semaphore("count").TrySetPermits(b.Context(), 2)
		b.wantNil("TrySetPermits", err)
		asked("count", "", engine.ErrForeignKey)
		asked("nothing", "")
		for name, want := range map[string]engine.Kind{"plain": "", "rw": "", "permits": engine.KindPermits, "nothing": ""} {
			if s, _ := b.SimpleMutex(name).Inspect(b.Context()); s.Kind != want {
				b.Errorf("a simple lock finds %s to be %q, want %q", name, s.Kind, want)
			}
		}
		b.unlock(fenced) // its counter stays
		fenced = b.lock(b.SimpleMutex("fenced"))
		if s, err := b.SimpleMutex("fenced").Inspect(b.Context()); s.Kind != engine.KindSimple || err != nil {
			b.Errorf("a simple lock that was a fenced one is found to be %q, %v", s.Kind, err)
		}
		for _, h := range []*engine.Hold{fair, fenced, plain, reader, held} {
			b.unlock(h)
		}
		synctest.Wait()
	}))
	t.Run("has JSON names that are part of the API", spec(engine.Options{}, func(b *bubble) {
		h := b.lock(b.RWMutex("stock:7").Writer())
		s, err := b.RWMutex("stock:7").Writer().Inspect(b.Context())
		b.wantNil("Inspect", err)
		s.Since = time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)
		text, err := json.Marshal(s)
		want := `{"locked":true,"ours":true,"owner":"` + h.TenureID() + `","owner_id":{"client":"` + b.ID() + `","number":NUMBER,"write":true},` +
			`"count":1,"ttl":30000000000,"token":0,"kind":"write","since":"2026-11-22T18:00:00Z"}`
		number := strings.Split(h.TenureID(), ":")[1]
		if want = strings.Replace(want, "NUMBER", number, 1); err != nil || string(text) != want {
			b.Errorf("JSON is\n%s, %v, want\n%s", text, err, want)
		}
		text, err = json.Marshal(engine.State{})
		if want := `{"locked":false,"ours":false,"owner":"","owner_id":{"client":"","number":0},"count":0,"ttl":0,"token":0,"kind":""}`; err != nil || string(text) != want {
			b.Errorf("JSON is\n%s, %v, want\n%s", text, err, want)
		}
		b.unlock(h)
	}))
}
