package engine_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// TestNamesThatShareAChannel: Redisson's rule gives "stock" and "{stock}" one channel. The waiters of both must
// hear it, whoever subscribed last or gave up first.
func TestNamesThatShareAChannel(t *testing.T) {
	spec(engine.Options{PollCap: time.Hour}, func(b *bubble) {
		other := b.another(engine.Options{})
		plain, braced := b.lock(other.Mutex("stock")), b.lock(other.Mutex("{stock}"))
		first, second := b.queue(b.Mutex("stock")), b.queue(b.Mutex("{stock}"))
		b.unlock(plain)
		b.unlock(first.wantGrantedNow())
		time.Sleep(5 * time.Second) // the first one's subscription has ended
		b.unlock(braced)
		b.unlock(second.wantGrantedNow())
	})(t)
}
