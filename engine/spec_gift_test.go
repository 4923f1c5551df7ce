package engine_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// A release gives a lock to the engine that waits for it, which so asks for nothing more, or for the tokens of a fenced one.
// invariant: gift-counts-from-its-acquire
func TestSpecGifts(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]func(*engine.Engine) *engine.Mutex{
		"mutex":  func(e *engine.Engine) *engine.Mutex { return e.Mutex("stock:7") },
		"fenced": func(e *engine.Engine) *engine.Mutex { return e.FencedMutex("stock:7") },
		"fair":   func(e *engine.Engine) *engine.Mutex { return e.FairMutex("stock:7") },
	} {
		questions := int64(0)
		if kind == "fenced" {
			questions = 1
		}
		t.Run("go from engine to engine: "+kind, spec(engine.Options{}, func(b *bubble) {
			engines := []*engine.Engine{b.Engine, b.another(engine.Options{})}
			h := b.lock(of(engines[0]))
			var token int64
			for turn := range 6 {
				next := engines[(turn+1)%2]
				w := b.queue(of(next))
				time.Sleep(10 * time.Millisecond)
				before := next.Stats().Attempts
				b.unlock(h)
				h = w.wantGrantedNow()
				if asked := next.Stats().Attempts - before; asked != questions && turn > 0 { // before its first refusal the first engine knows of no claims
					b.Errorf("turn %d: it asked Redis %d times after the release, want %d", turn, asked, questions)
				}
				if now, fenced := h.Token(); fenced && now <= token {
					b.Errorf("turn %d: token %d after %d", turn, now, token)
				} else {
					token = now
				}
			}
			time.Sleep(100 * time.Millisecond)
			if left := b.ttl("stock:7"); left < 29*time.Second {
				b.Errorf("the lock has %v left, and was not renewed", left)
			}
			b.unlock(h)
		}))
		t.Run("given to who gives up: "+kind, spec(engine.Options{}, func(b *bubble) {
			other := b.another(engine.Options{})
			h := b.lock(of(b.Engine))
			_, err := of(other).Lock(b.Context(), engine.WithWait(time.Second))
			b.wantIs("Lock", err, engine.ErrWaitTimeout)
			b.unlock(h)
			b.unlock(b.lock(of(b.Engine)))
		}))
	}
}
