package faults_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// The kinds*_test.go files hold every kind of synchroniser to the same rules. A kind is described here, once.

// kind is one of them.
type kind struct {
	name    string
	servers int                        // it needs
	room    int64                      // how many may be inside at once; 0: none ever is
	holders bool                       // who are told of a loss
	owned   bool                       // the key is a hash of its owner
	permits bool                       // its names must be given room permits
	keys    func(name string) []string // that stand while it is held
	source  func(engines []*engine.Engine, name string) source
	blocker func(engines []*engine.Engine, name string) source // whoever has this keeps source waiting; nil: source
}

// source is one name of a kind, in one process.
type source interface {
	get(ctx context.Context, opts ...engine.LockOption) (taken, error)
	try(ctx context.Context, opts ...engine.LockOption) (taken, error)
	async(ctx context.Context) under
}

// taken is what a source has given. hold is nil where there are no holders.
type taken struct {
	hold *engine.Hold
	room int64 // that it takes
	back func(ctx context.Context) error
}

// under is a call under way.
type under struct {
	cancel func() bool
	wait   func(ctx context.Context) (taken, error)
}

const several = 3 // permits of a semaphore

var kindsOfAll = []kind{
	lockKind("mutex", (*engine.Engine).Mutex),
	lockKind("fair", (*engine.Engine).FairMutex),
	lockKind("fenced", (*engine.Engine).FencedMutex),
	lockKind("spin", (*engine.Engine).SpinMutex),
	lockKind("writer", func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() }),
	readerKind(),
	{name: "multi", servers: 1, room: 1, holders: true, source: multiSource,
		keys: func(name string) []string { return []string{name + "/a", name + "/b"} }},
	{name: "quorum", servers: 3, room: 1, holders: true, source: quorumSource, keys: itself},
	{name: "permits", servers: 1, room: several, holders: true, permits: true, source: permitSource,
		keys: func(name string) []string { return []string{scripts.PermitsKey(name)} }, blocker: allPermits},
	{name: "semaphore", servers: 1, room: several, permits: true, source: semaphoreSource, keys: itself, blocker: allOfSemaphore},
	{name: "latch", servers: 1, source: latchSource, keys: itself, blocker: latchShut},
}

func itself(name string) []string { return []string{name} }

func lockKind(name string, lock func(*engine.Engine, string) *engine.Mutex) kind {
	return kind{name: name, servers: 1, room: 1, holders: true, owned: name != "writer" && name != "reader", keys: itself,
		source: func(e []*engine.Engine, name string) source { return lockSource{lock(e[0], name)} }}
}

func readerKind() kind {
	k := lockKind("reader", func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Reader() })
	k.room = 1 << 30
	k.blocker = func(e []*engine.Engine, name string) source { return lockSource{e[0].RWMutex(name).Writer()} }
	return k
}

// block has somebody take a name, so that a source of the kind waits.
func (k *kind) block(t *testing.T, engines []*engine.Engine, name string) taken {
	t.Helper()
	source := k.source
	if k.blocker != nil {
		source = k.blocker
	}
	got, err := source(engines, name).get(testkit.Soon(t))
	if err != nil {
		t.Fatalf("take %s: %v", name, err)
	}
	return got
}

// chance draws for all goroutines of a test.
type chance struct {
	mu sync.Mutex // guards r
	r  *rand.Rand
}

// below is a number from 0 to under n.
func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

// pause lets up to d pass.
func (c *chance) pause(d time.Duration) { time.Sleep(time.Duration(c.below(int(d)))) }

// stage is the servers of a kind in virtual time, with one process that has faults on its ways to them and one that has none.
type stage struct {
	*virtual.World
	kind
	chance
	servers      []*redisnet.Server
	links        []*redisnet.Link // of ours
	ours, theirs []*engine.Engine
}

func newStage(w *virtual.World, random *rand.Rand, k kind, change ...func(*engine.Options)) *stage {
	s := &stage{World: w, kind: k, chance: chance{r: random}, servers: []*redisnet.Server{w.Server}}
	for i := range k.servers - 1 {
		s.servers = append(s.servers, w.Serve(strconv.Itoa(i)))
	}
	for _, server := range s.servers {
		e, l := w.ConnectTo(server, change...)
		other, _ := w.ConnectTo(server, change...)
		s.ours, s.links, s.theirs = append(s.ours, e), append(s.links, l), append(s.theirs, other)
	}
	return s
}

// onEveryKind runs a test for each kind that it is for, with so many seeds; under the race detector for one of three.
func onEveryKind(t *testing.T, seeds int, isFor func(*kind) bool, test func(s *stage), change ...func(*engine.Options)) {
	for _, k := range kindsOfAll {
		if isFor(&k) {
			t.Run(k.name, func(t *testing.T) {
				testkit.OneOf(t, 3)
				t.Parallel()
				virtual.Seeds(t, seeds, func(w *virtual.World, random *rand.Rand) { test(newStage(w, random, k, change...)) })
			})
		}
	}
}

func everything(*kind) bool { return true }

func isHeld(k *kind) bool { return k.room > 0 }

func (k *kind) hasHolders() bool { return k.holders }

// stock gives names their permits, where the kind has some.
func (s *stage) stock(names ...string) {
	for _, name := range names {
		if s.permits {
			s.Server.Do("SET", name, strconv.Itoa(several))
		}
	}
}

// stands reports whether somebody has a name, as Redis sees it.
func (s *stage) stands(name string) bool { return s.standsOn(name) > len(s.servers)/2 }

// standsOn is on how many servers somebody has it. The last answers of a quorum come when it is long held.
func (s *stage) standsOn(name string) (n int) {
	for _, server := range s.servers {
		if s.permits && server.Do("GET", name).Str != strconv.Itoa(several) ||
			!s.permits && server.Do(append([]string{"EXISTS"}, s.keys(name)...)...).Int == int64(len(s.keys(name))) {
			n++
		}
	}
	return n
}

// left are those keys that stand in Redis although nobody has anything: all but permits that are complete, receipts,
// which end by themselves, and fencing tokens, which stand for ever.
func left(keys []string, get func(key string) string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		return strings.Contains(key, ":wheellock:receipt:") || strings.HasSuffix(key, ":wheellock:claims") || strings.HasSuffix(key, ":wheellock:line") ||
			strings.HasPrefix(key, "redisson_lock_token:") || get(key) == strconv.Itoa(several)
	})
}

func (s *stage) left() (keys []string) {
	for _, server := range s.servers {
		keys = append(keys, left(server.Keys(), func(key string) string { return server.Do("GET", key).Str })...)
	}
	return keys
}

// ttl is how long a key lives at most.
func (s *stage) ttl(key string) time.Duration {
	return time.Duration(s.Server.Do("PTTL", key).Int+1) * time.Millisecond // PTTL cuts
}

// listeners counts the channels somebody listens to.
func (s *stage) listeners() (n int) {
	for _, server := range s.servers {
		n += len(server.Subscriptions())
	}
	return n
}

// countScripts counts the calls of scripts on the first server from now on.
func (s *stage) countScripts() (calls func() int64) {
	var n atomic.Int64
	s.Server.Hear(func(args []string) {
		if strings.EqualFold(args[0], "EVALSHA") {
			n.Add(1)
		}
	})
	return n.Load
}

// quietTime is after how long nothing may be left of what has ended, at the latest.
const quietTime = 5 * time.Second

// checkQuiet checks what must be true when all calls have ended: nothing is left, nobody waits, listens or holds.
func (s *stage) checkQuiet() {
	s.T.Helper()
	idle := func() bool {
		return !slices.ContainsFunc(slices.Concat(s.ours, s.theirs), func(e *engine.Engine) bool {
			stats := e.Stats()
			return stats.Waiting != 0 || stats.Held != 0
		})
	}
	for called := time.Now(); ; time.Sleep(100 * time.Millisecond) { // sleeps: the pace of questions
		keys, channels, atRest := s.left(), s.listeners(), idle()
		if len(keys) == 0 && channels == 0 && atRest {
			s.T.Logf("quiet after %v", time.Since(called))
			return
		}
		if time.Since(called) >= quietTime {
			s.T.Errorf("%d keys stand, for example %q; %d channels are listened to; idle: %t", len(keys), keys[:min(3, len(keys))], channels, atRest)
			return
		}
	}
}
