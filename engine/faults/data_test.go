package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A server that evicts keys forgets locks: their holders are told by the next renewal, and tokens grow although the
// counter went, too.
func TestFaultServerEvicts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-random")
	e := testkit.Connect(t, server.Addr(), testkit.Lease(3*time.Second))
	for range testkit.Times(t, 50, 1) {
		holds := make([]*engine.Hold, 100)
		for i := range holds {
			holds[i] = testkit.MustLock(t, e.FencedMutex(fmt.Sprintf("kept:%d", i)))
		}
		server.MustDo("CONFIG", "SET", "maxmemory", "1")
		server.Do("SET", "the last straw", "") // there is never room for it
		redistest.Await(t, "all keys to be evicted", func() bool { return server.MustDo("DBSIZE").Int == 0 })
		server.MustDo("CONFIG", "SET", "maxmemory", "0")
		for _, h := range holds {
			if err := testkit.MustEnd(t, h); !errors.Is(err, engine.ErrLost) {
				t.Errorf("%s ended with %v", h.Name(), err)
			}
			if time.Now().After(h.Deadline().Add(3 * time.Second)) { // for a busy machine
				t.Errorf("%s was told only when its lease was over", h.Name())
			}
		}
		for _, h := range holds {
			again := testkit.MustLock(t, e.FencedMutex(h.Name()))
			first, _ := h.Token()
			if second, _ := again.Token(); second <= first {
				t.Errorf("%s: token %d after %d", h.Name(), second, first)
			}
			testkit.MustUnlock(t, again)
		}
		server.MustDo("FLUSHALL") // the counters
	}
	testkit.CheckQuiet(t, server, e, 0)
}

// A server that syncs each write before it answers loses no lock when it dies. (One that syncs every second may: while
// a sync takes long, it puts off the writing too.)
func TestFaultRestartWithAppendOnlyFile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	e := testkit.Connect(t, server.Addr(), testkit.Lease(20*time.Second))
	for range testkit.Times(t, 50, 1) {
		holds := make([]*engine.Hold, 50)
		for i := range holds {
			holds[i] = testkit.MustLock(t, e.Mutex(fmt.Sprintf("kept:%d", i)))
		}
		server.Restart()
		for _, h := range holds {
			if got := testkit.Owners(server, h.Name()); !slices.Equal(got, []string{h.TenureID(), "1"}) {
				t.Errorf("%s: after the restart stands %q", h, got)
			}
			testkit.MustUnlock(t, h)
		}
	}
	testkit.CheckQuiet(t, server, e, 0)
}
