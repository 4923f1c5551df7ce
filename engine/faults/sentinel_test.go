package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// switches are the ways in which another server becomes the master. Each returns when the sentinels have settled; what it returns brings the
// old master back, which then follows the new one.
var switches = []struct {
	name string
	run  func(t *testing.T, s *redistest.Sentinel) (back func())
}{
	{"on demand", func(_ *testing.T, s *redistest.Sentinel) func() { s.Failover(); return func() {} }},
	{"when the old one dies", func(_ *testing.T, s *redistest.Sentinel) func() {
		old := s.Node(s.Master())
		old.Kill()
		s.AwaitMaster(old.Addr())
		return old.Restart
	}},
	{"when the old one stands still", func(_ *testing.T, s *redistest.Sentinel) func() {
		old := s.Node(s.Master())
		old.Freeze()
		s.AwaitMaster(old.Addr())
		return old.Thaw
	}},
	{"while the sentinel that would say so stands still", func(t *testing.T, s *redistest.Sentinel) func() {
		old := s.Master()
		told := slices.MaxFunc(s.Sentinels, func(a, b *redistest.Server) int { return a.ClientCount("pubsub") - b.ClientCount("pubsub") })
		asked := s.Sentinels[(slices.Index(s.Sentinels, told)+1)%len(s.Sentinels)]
		told.Freeze()
		redistest.Await(t, "a switch", func() bool {
			at := asked.MustDo("SENTINEL", "GET-MASTER-ADDR-BY-NAME", redistest.MasterName).Texts()
			if net.JoinHostPort(at[0], at[1]) != old {
				return true
			}
			asked.Do("SENTINEL", "FAILOVER", redistest.MasterName) // an error while one is under way
			return false
		})
		told.Thaw()
		s.AwaitMaster(old)
		return func() {}
	}},
}

// bySentinel makes an engine that asks sentinels who is the master, until the end of the test.
func bySentinel(t *testing.T, s *redistest.Sentinel, change ...func(*engine.Options)) *engine.Engine {
	t.Helper()
	opts := engine.Options{Redis: rueidis.ClientOption{
		InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName},
	}}
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	for _, c := range change {
		c(&opts)
	}
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// siege is callers of two processes who compete for a few names while masters come and go.
type siege struct {
	t       *testing.T
	engines []*engine.Engine
	tokens  [4]atomic.Int64 // by name: the largest that was granted
	grants  atomic.Int64
	lost    atomic.Int64
}

// begin has so many callers lock and unlock until stop.
func (s *siege) begin(callers int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for ctx.Err() == nil && !s.t.Failed() {
				s.once(i)
				time.Sleep(rand.N(40 * time.Millisecond)) // sleeps: the pace of calls, or they take the machine, from the servers too
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// once locks and unlocks. Nobody waits for ever, and tokens grow: a grant's is larger than all that were granted
// before it was asked for.
func (s *siege) once(i int) {
	n := i % len(s.tokens)
	name, before := fmt.Sprintf("siege:%d", n), s.tokens[n].Load()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	h, err := s.engines[i%len(s.engines)].FencedMutex(name).Lock(ctx)
	if err != nil {
		s.t.Errorf("lock %s: %v", name, err)
		return
	}
	s.grants.Add(1)
	token, _ := h.Token()
	if token <= before {
		s.t.Errorf("%s: token %d after %d", name, token, before)
	}
	for last := s.tokens[n].Load(); last < token && !s.tokens[n].CompareAndSwap(last, token); {
		last = s.tokens[n].Load()
	}
	switch err := h.Unlock(ctx); {
	case testkit.IsAny(err, engine.ErrLost, engine.ErrUncertain):
		s.lost.Add(1)
	case err != nil:
		s.t.Errorf("unlock %s: %v", name, err)
	}
}

// Whatever becomes of a master, the locks go on at the next one: who waits is served, who lost a lock is told,
// tokens grow, messages are heard.
func TestFaultSentinelSwitch(t *testing.T) {
	t.Parallel()
	for _, way := range switches {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel() // mostly it waits for sentinels
			s := redistest.StartSentinel(t, 2)
			short := func(o *engine.Options) { o.Lease, o.PollCap = 6*time.Second, time.Hour } // only messages wake, and the end of a lease
			e := bySentinel(t, s, short)
			load := &siege{t: t, engines: []*engine.Engine{e, bySentinel(t, s, short)}}
			kept, lost := 0, 0
			for round := range testkit.Times(t, 12, 1) {
				k, l := load.through(s, round, func() {
					old := s.Master()
					back := way.run(t, s)
					s.AwaitMaster(old) // before one that died comes back empty: who asks it for a lock hears that there is none
					back()
				})
				kept, lost = kept+k, lost+l
			}
			t.Logf("%d grants, of which %d were lost; of the locks held through a switch %d were kept and %d lost",
				load.grants.Load(), load.lost.Load(), kept, lost)
		})
	}
}

// through holds some locks and waits for one while there is a switch, and says how many it kept and lost.
func (s *siege) through(sentinel *redistest.Sentinel, round int, change func()) (kept, lost int) {
	stop := s.begin(8)
	defer stop()
	t, e := s.t, s.engines[0]
	holds := make([]*engine.Hold, 20)
	for i := range holds {
		holds[i] = testkit.MustLock(t, e.Mutex(fmt.Sprintf("kept:%d:%d", round, i)))
	}
	wake := waitFor(t, sentinel, e, fmt.Sprintf("taken:%d", round))

	change()
	// On a machine that stands still the sentinels may see a reason for one more.
	master := func() *redistest.Server { return sentinel.Node(sentinel.Master()) }
	wake(master)
	for _, h := range holds {
		redistest.Await(t, "the truth about "+h.Name(), func() bool {
			return testkit.Ended(h) || slices.Equal(master().Do("HGETALL", h.Name()).Texts(), []string{h.TenureID(), "1"})
		})
		if err := h.Unlock(testkit.Soon(t)); err == nil {
			kept++
		} else if lost++; !errors.Is(err, engine.ErrLost) {
			t.Errorf("unlock: %v", err)
		}
	}
	before := s.grants.Load()
	redistest.Await(t, "grants by the new master", func() bool { return s.grants.Load() > before+50 })
	stop()
	var left []string
	defer func() {
		for _, key := range left {
			t.Log(key, "is left for", master().Do("PTTL", key), "ms")
		}
	}()
	// A grant by a master that came back empty leaves a place in the line of the new master, which runs out in a minute.
	runsOut := func(key string) bool {
		ttl := master().Do("PTTL", key).Int
		return strings.HasSuffix(key, ":wheellock:line") && ttl != -1 && ttl <= time.Minute.Milliseconds()
	}
	redistest.Await(t, "nothing to be left", func() bool {
		left = slices.DeleteFunc(master().Keys(), func(key string) bool { return strings.HasPrefix(key, "redisson_lock_token:") || runsOut(key) })
		return len(left) == 0
	})
	return kept, lost
}

// waitFor has the engine wait for a name that another program holds for an hour. What it returns frees it at the
// new master, when the engine listens there, and has the waiter get it.
func waitFor(t *testing.T, s *redistest.Sentinel, e *engine.Engine, name string) func(master func() *redistest.Server) {
	t.Helper()
	old := s.Node(s.Master())
	testkit.NewOutsider(t, old.Addr()).Take(name, time.Hour)
	old.MustDo("PING") // WAIT is for what came before the last command of its connection
	old.MustDo("WAIT", strconv.Itoa(len(s.Nodes)-1), "4000")
	waits := e.Mutex(name).LockAsync(context.Background())
	listens := func(server *redistest.Server) bool {
		return slices.Contains(server.Do("PUBSUB", "CHANNELS").Texts(), scripts.LockChannel(name))
	}
	redistest.Await(t, "the waiter to listen", func() bool { return listens(old) })
	return func(master func() *redistest.Server) {
		t.Helper()
		redistest.Await(t, "the waiter to listen at the new master", func() bool {
			// A master that died comes back empty, and is one until a sentinel has told it better, and the engine, which hears one sentinel: on
			// a busy machine that may be a second later than the others. A caller that was granted the lock there loses it, and asks again.
			if h, err := waits.Result(); err == nil && testkit.Ended(h) {
				waits = e.Mutex(name).LockAsync(context.Background())
			}
			return listens(master())
		})
		if !testkit.NewOutsider(t, master().Addr()).Free(name) {
			t.Errorf("the new master does not know %s", name) // and the waiter has it already
		}
		err := get(t, waits)
		if errors.Is(err, engine.ErrLost) { // such a master has granted it
			err = get(t, e.Mutex(name).LockAsync(context.Background()))
		}
		if err != nil {
			t.Errorf("a lock that waited: %v", err)
		}
	}
}

// The sentinels cannot reach the old master to make it a replica, but we can: no connection to it breaks. All the
// same who lost a lock by the switch is told long before the next renewal, and messages of the new master are heard.
func TestFaultSentinelOldMasterLivesOn(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, 1)
	for _, node := range s.Nodes {
		node.MustDo("ACL", "SETUSER", "locks", "on", ">password", "~*", "&*", "+@all")
	}
	old, replica := s.Nodes[0], s.Nodes[1]
	e := bySentinel(t, s, func(o *engine.Options) {
		o.Lease, o.PollCap = time.Hour, time.Hour
		o.Redis.Username, o.Redis.Password = "locks", "password"
	})
	kept, lost := testkit.MustLock(t, e.Mutex("kept")), testkit.MustLock(t, e.Mutex("lost"))
	wake := waitFor(t, s, e, "taken")
	replica.MustDo("CONFIG", "SET", "replica-read-only", "no")
	replica.MustDo("DEL", "lost")                                     // as if it had not arrived
	old.MustDo("ACL", "SETUSER", "default", "-slaveof", "-replicaof") // which the sentinels' user is
	redistest.Await(t, "another master", func() bool {
		if s.Master() == replica.Addr() {
			return true
		}
		s.Sentinels[0].Do("SENTINEL", "FAILOVER", redistest.MasterName) // an error while one is under way; one that was aborted is begun anew
		return false
	})
	testkit.WantIs(t, "the lost hold", testkit.MustEnd(t, lost), engine.ErrLost)
	wake(func() *redistest.Server { return replica })
	testkit.MustUnlock(t, kept)
	if role := old.MustDo("ROLE").Texts(); role[0] != "master" {
		t.Errorf("the old master is a %s: nothing was seen", role[0])
	}
}

// One switch, seen by engines that have different things to lose by it:
//   - With Replicas what was detached, and what stays taken, is at the new master; in RESP2, too.
//   - The sentinel's word that another server is the master is lost, and the old one lives on as a replica: the sentinels are asked every
//     two seconds.
//   - SECURITY.md says what a user may do at servers behind sentinels; without it Open fails and names it.
//
// invariant: detached-name-stays, replicas-acknowledge
func TestFaultSentinelSwitchKeepsNamesTaken(t *testing.T) {
	t.Parallel() // mostly it waits for sentinels
	s := redistest.StartSentinel(t, 1)
	safe := bySentinel(t, s, testkit.Replicas(1), func(o *engine.Options) { o.Redis.AlwaysRESP2 = true })
	stays := testkit.MustLock(t, safe.Mutex("stays"), engine.WithMinHold(time.Hour))
	id, err := testkit.MustLock(t, safe.Mutex("detached")).Detach(testkit.Soon(t), time.Hour)
	testkit.Must(t, err)
	proxy := redistest.NewProxy(t, s.Sentinels[0].Addr())
	proxy.LoseMessages()
	deaf := bySentinel(t, s, func(o *engine.Options) { o.Redis.InitAddress = []string{proxy.Addr()} })
	unheard := testkit.MustLock(t, deaf.Mutex("unheard"))
	besides := testkit.AclBesides(t, "Redis.Sentinel")
	limit := func(rule ...string) (opts engine.Options) {
		for _, node := range s.Nodes {
			opts = limitedTo(node, rule...)
		}
		opts.Redis.InitAddress, opts.Redis.Sentinel = s.Addrs(), rueidis.SentinelOption{MasterSet: redistest.MasterName}
		opts.NameMapper = func(name string) string { return "app:" + name }
		return opts
	}
	limited := testkit.MustLock(t, openLimited(t, limit(slices.Concat(testkit.AclRule(t), besides)...)).Mutex("limited"))

	testkit.MustUnlock(t, stays)
	last := testkit.MustLock(t, safe.Mutex("last")) // a replica that has it has all that came before
	master := s.Node(s.Failover())

	h, err := safe.Mutex("detached").Adopt(testkit.Soon(t), id)
	for errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, engine.ErrUncertain) { // the switch is not over
		h, err = safe.Mutex("detached").Adopt(testkit.Soon(t), id)
	}
	testkit.Must(t, err)
	if state, err := safe.Mutex("stays").Inspect(testkit.Soon(t)); err != nil || !state.OwnerID.Detached || state.TTL < 59*time.Minute {
		t.Errorf("after a min hold it is %+v, %v", state, err)
	}
	for _, h := range []*engine.Hold{h, last, unheard, limited} {
		testkit.MustUnlock(t, h)
	}
	h = testkit.MustLock(t, deaf.Mutex("new"))
	if !slices.Equal(testkit.Owners(master, "new"), []string{h.TenureID(), "1"}) {
		t.Error("the new master does not know the lock")
	}
	testkit.MustUnlock(t, h)
	for _, right := range besides {
		mustNotOpen(t, limit(testkit.AclRule(t)...), engine.ErrRefused, strings.TrimPrefix(right, "+"))
	}
	openByURL(t, s)
}

// openByURL uses the form of a URL for Sentinel.
func openByURL(t *testing.T, s *redistest.Sentinel) {
	t.Helper()
	url := "redis://" + s.Addrs()[0] + "?addr=" + s.Addrs()[1] + "&addr=" + s.Addrs()[2] + "&master_set="
	opts, err := engine.ParseURL(url + redistest.MasterName)
	testkit.Must(t, err)
	e := openLimited(t, opts)
	h := testkit.MustLock(t, e.Mutex("stock:7"))
	if master := s.Node(s.Master()); !slices.Equal(testkit.Owners(master, "stock:7"), []string{h.TenureID(), "1"}) {
		t.Error("the master does not know the lock")
	}
	testkit.MustUnlock(t, h)

	opts, err = engine.ParseURL(url + "nobody")
	testkit.Must(t, err)
	mustNotOpen(t, opts, engine.ErrUnavailable, s.Addrs()[0])
}
