package interop

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// kind is a lock that has an owner.
type kind struct {
	redisson string // its name
	lock     func(e *engine.Engine, name string) *engine.Mutex
	polls    bool   // its waiters poll, so no message wakes them
	excluder string // the kind for whose unlocking it waits, when not its own
}

// kinds are all of them.
var kinds = []kind{
	{redisson: "lock", lock: (*engine.Engine).Mutex},
	{redisson: "fenced", lock: (*engine.Engine).FencedMutex},
	{redisson: "spin", lock: (*engine.Engine).SpinMutex, polls: true},
	{redisson: "fair", lock: (*engine.Engine).FairMutex},
	{redisson: "write", lock: func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() }},
	{redisson: "read", lock: func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Reader() }, excluder: "write"},
}

// other is the kind that k waits for.
func (k kind) other() kind {
	for _, other := range kinds {
		if other.redisson == k.excluder {
			return other
		}
	}
	return k
}

// byMessage is below any lease and any poll of what waits in this package's tests, and far above a message's way,
// also on a machine so busy that Java hardly runs.
const byMessage = 15 * time.Second

// contention is how long both sides contend: WHEELLOCK_CONTEND=20s for a full run.
func contention(t *testing.T) time.Duration {
	if text := os.Getenv("WHEELLOCK_CONTEND"); text != "" {
		d, err := time.ParseDuration(text)
		testkit.Must(t, err)
		return d
	}
	return time.Second
}

// open opens an engine whose waiters are woken by messages or not at all.
func open(t *testing.T, server *redistest.Server, opts engine.Options) *engine.Engine {
	t.Helper()
	return openAt(t, []string{server.Addr()}, opts)
}

func openAt(t *testing.T, addrs []string, opts engine.Options) *engine.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: addrs}
	if opts.PollCap == 0 {
		opts.PollCap = time.Hour
	}
	opts.AnswerTimeout = -1 // beside a JVM on two processors an answer may take longer than a second
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	t.Cleanup(func() { e.Close() })
	return e
}

func unlock(t *testing.T, h *engine.Hold) {
	t.Helper()
	if err := h.Unlock(context.Background()); err != nil {
		t.Error(err)
	}
}

func lock(t *testing.T, m *engine.Mutex) *engine.Hold {
	t.Helper()
	h, err := m.Lock(context.Background())
	testkit.Must(t, err)
	return h
}

// woken expects who waits to get what he waits for, soon.
func woken(t *testing.T, answer <-chan string, who string) {
	t.Helper()
	wokenWithin(t, answer, who, byMessage)
}

func wokenWithin(t *testing.T, answer <-chan string, who string, d time.Duration) {
	t.Helper()
	select {
	case line := <-answer:
		if said, ok := read(line); !ok {
			t.Errorf("%s: %s", who, said)
		}
	case <-time.After(d):
		t.Fatalf("%s was not woken within %v", who, d)
	}
}

// awaitWaiter returns when somebody listens for the unlocking of a name, or polls for it.
func (p *pair) awaitWaiter(t *testing.T, k kind, name string) {
	t.Helper()
	if !k.polls {
		redistest.Await(t, "somebody listens for "+name, func() bool {
			return slices.ContainsFunc(p.nodes, func(node *redistest.Server) bool { return listensFor(node, name) })
		})
		return
	}
	before := p.asked()
	redistest.Await(t, "somebody polls for "+name, func() bool { return p.asked() > before+2 })
}

// asked is how many scripts have run.
func (p *pair) asked() (n int64) {
	for _, node := range p.nodes {
		counts := node.CommandCounts()
		n += counts["evalsha"] + counts["eval"] // without a script cache
	}
	return n
}

// awaitSleeper returns when whoever of Redisson's waits has asked once more after his subscription, and had the time to go to
// sleep. Nothing tells that; but the message of a writer wakes only who sleeps already, and one that comes a moment
// before leaves him to sleep until the lease would be over.
func (p *pair) awaitSleeper(t *testing.T) {
	t.Helper()
	last, since := int64(-1), time.Now()
	redistest.Await(t, "nobody asks", func() bool {
		if now := p.asked(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
}

// awaitListener returns when somebody listens for a name.
func awaitListener(t *testing.T, server *redistest.Server, name string) {
	t.Helper()
	redistest.Await(t, "somebody listens for "+name, func() bool { return listensFor(server, name) })
}

var subscription = regexp.MustCompile(`(?i)\] "S?SUBSCRIBE" `)

// awaitAskedAgain returns when who waits for a name has subscribed and asked once more after that. Until then he needs no message.
func awaitAskedAgain(t *testing.T, monitor *redistest.Monitor, name string) {
	t.Helper()
	subscribed, asked := false, false
	redistest.Await(t, "who waits for "+name+" asks again", func() bool {
		for _, line := range monitor.Take() {
			if strings.Contains(line, name) {
				asked = asked || subscribed
				subscribed = subscribed || subscription.MatchString(line)
			}
		}
		return asked
	})
}

func listensFor(server *redistest.Server, name string) bool {
	now := server.Subscriptions()
	return slices.ContainsFunc(append(now.Channels, now.Shard...), func(channel string) bool { return strings.Contains(channel, name) })
}
