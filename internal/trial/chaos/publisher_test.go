package chaos

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// mostQuestions is how often an engine asks for a name in a second because of messages, at most (SECURITY.md).
const mostQuestions = 100

// Who may PUBLISH and PSUBSCRIBE, and nothing else, costs a bounded number of questions.
// invariant: one-command-per-name
func TestAPublisherCostsABoundedNumberOfQuestions(t *testing.T) {
	server := redistest.Start(t)
	holds, waits := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	testkit.MustLock(t, holds.Mutex("mutex"))
	waits.Mutex("mutex").LockAsync(t.Context())
	testkit.MustLock(t, holds.FencedMutex("fenced"))
	waits.FencedMutex("fenced").LockAsync(t.Context())
	testkit.MustLock(t, holds.FairMutex("fair"))
	waits.FairMutex("fair").LockAsync(t.Context())
	for _, channel := range []string{scripts.LockChannel("mutex"), scripts.LockChannel("fenced")} {
		redistest.Await(t, channel+" to be heard", func() bool { return server.Subscriptions().Count() >= 3 })
		p := newPublisher(server)
		if p == nil {
			t.Fatal("the server lets no publisher in")
		}
		before, began := scriptsRun(server), time.Now()
		p.attack(channel, time.Second)
		lasted := time.Since(began)
		p.leave()
		asked := scriptsRun(server) - before
		t.Logf("%s: %d messages in %v led to %d calls of scripts by two engines", channel, p.published, lasted, asked)
		if p.published < 1000 {
			t.Errorf("only %d messages were published", p.published)
		}
		if most := int64(2 * mostQuestions * (lasted.Seconds() + 1)); asked > most {
			t.Errorf("%d messages led to %d calls of scripts, want at most %d", p.published, asked, most)
		}
	}
}

// scriptsRun is how many calls of scripts a server has had.
func scriptsRun(server *redistest.Server) int64 {
	counts := server.CommandCounts()
	return counts["eval"] + counts["evalsha"]
}
