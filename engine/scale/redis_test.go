package scale_test

import (
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// What a lock, a permit, a name that is waited for and an engine take of the memory of redis-server, its tables of keys included.
// docs/SIZING.md has these figures.
func TestScaleOfMemoryInRedis(t *testing.T) {
	measures(t)
	const n, together, engines = 10_000, 1_000, 20
	server := redistest.Start(t)
	used := func() int {
		bytes, err := strconv.Atoi(resp.InfoFields(server.MustDo("INFO", "memory").Text)["used_memory"])
		testkit.Must(t, err)
		return bytes
	}
	cost := func(what string, n, most int, take func()) {
		t.Helper()
		before := used()
		take()
		each := (used() - before) / n
		if t.Logf("%s: %d bytes", what, each); each <= 0 || each > most {
			t.Errorf("%s: %d bytes, want at most %d", what, each, most)
		}
	}
	granted := func(calls int, ask func(i int) *futures.Future[*engine.Hold]) func() {
		return func() {
			asked := make([]*futures.Future[*engine.Hold], calls)
			for i := range asked {
				asked[i] = ask(i)
			}
			for _, f := range asked {
				testkit.MustWait(t, f)
			}
		}
	}
	lock := func(kind string, handle func(name string) *engine.Mutex) func() {
		return granted(n, func(i int) *futures.Future[*engine.Hold] {
			return handle(testkit.Name24(kind, i)).LockAsync(t.Context())
		})
	}
	e, other := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	cost("a held Mutex", n, 300, lock("mutex", e.Mutex))
	cost("a held FencedMutex with its counter", n, 400, lock("fenced", e.FencedMutex))
	cost("a held FairMutex", n, 300, lock("fair", e.FairMutex))
	cost("a reader of an RWMutex", n, 500, lock("reader", func(name string) *engine.Mutex { return e.RWMutex(name).Reader() }))
	permits := e.PermitSemaphore("permits")
	if _, err := permits.TrySetPermits(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	cost("a held permit", n, 200, granted(n/together, func(int) *futures.Future[*engine.Hold] { return permits.AcquireAsync(t.Context(), together) }))
	cost("a Mutex for which another engine waits", n, 1_000, func() {
		for i := range n {
			other.Mutex(testkit.Name24("mutex", i)).LockAsync(t.Context())
		}
		redistest.Await(t, "every name to be listened to", func() bool { return len(server.Subscriptions().Channels) == n })
	})
	cost("an engine", engines, 600_000, func() {
		for i := range engines {
			testkit.MustUnlock(t, testkit.MustLock(t, testkit.Connect(t, server.Addr()).Mutex(strconv.Itoa(i))))
		}
	})
}
