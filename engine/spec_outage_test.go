package engine_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// An outage is told when it begins, a second later with the reason, ever less often, and when it is over, each time with the address of
// the server; by the link and by the subscriber.
func TestAnOutageIsToldInAFewLines(t *testing.T) {
	t.Parallel()
	outage := func(lasts time.Duration, each int) func(*testing.T) {
		return spec(engine.Options{}, func(b *bubble) {
			var log bytes.Buffer
			e := b.another(engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			b.lock(b.Mutex("stock:7"), engine.WithLease(time.Hour))
			waiter := b.queue(e.Mutex("stock:7")) // so that there is a subscriber
			b.redis.SetDown(true)
			time.Sleep(lasts)
			b.redis.SetDown(false)
			time.Sleep(5 * time.Second)
			waiter.wantWaiting()
			b.wantNil("Close", e.Close())
			text := log.String()
			for what, want := range map[string]int{
				`Redis`: each, `unlock messages`: each,
				`level=WARN msg="wheellock: connection to Redis broke" addr=enginetest:6379 error=`:                                                  1,
				`level=WARN msg="wheellock: Redis cannot be reached" addr=enginetest:6379 error="dial memory: connection refused" for=1[.s]`:         1,
				`level=INFO msg="wheellock: Redis can be reached again" addr=enginetest:6379 after=`:                                                 1,
				`level=WARN msg="wheellock: the connection for unlock messages broke" addr=enginetest:6379 error=`:                                   1,
				`level=WARN msg="wheellock: unlock messages cannot be heard" addr=enginetest:6379 error="dial memory: connection refused" for=1[.s]`: 1,
				`level=INFO msg="wheellock: unlock messages are heard again" addr=enginetest:6379 after=`:                                            1,
			} {
				if n := len(regexp.MustCompile(what).FindAllString(text, -1)); n != want {
					b.Errorf("%d times %q, want %d", n, what, want)
				}
			}
			if b.Failed() {
				b.Log(text)
			}
		})
	}
	t.Run("of 4s", outage(4*time.Second, 3))
	t.Run("of 150s", outage(150*time.Second, 7))
}
