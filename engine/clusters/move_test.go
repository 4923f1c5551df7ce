package clusters_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/judge"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

// nameAt is a name that the server serves.
func nameAt(tb testing.TB, c *redistest.Cluster, room string, at *redistest.Server) string {
	tb.Helper()
	for i := range 1000 {
		if name := fmt.Sprintf("%s:%d", room, i); c.NodeOf(slotOf(name)) == at {
			return name
		}
	}
	tb.Fatal("none of a thousand names lies there")
	return ""
}

func slotOf(name string) int { return int(scripts.HashSlot(name)) }

// other is a master that does not serve the slot.
func other(c *redistest.Cluster, slot int) *redistest.Server {
	if c.NodeOf(slot) == c.Nodes[0] {
		return c.Nodes[1]
	}
	return c.Nodes[0]
}

// contenders lock and unlock until they are stopped, and check that no two hold one lock at a time.
type contenders struct {
	t       *testing.T
	stop    func()
	stopped chan struct{}
	wg      sync.WaitGroup
	pairs   atomic.Int64
	holders sync.Map     // *judge.Inside by name
	silence atomic.Int64 // the longest time in which the watched servers did not all answer, in nanoseconds
}

// newContenders makes contenders that are gone at the end of the test at the latest, before the engines that were there first.
func newContenders(t *testing.T) *contenders {
	c := &contenders{t: t, stopped: make(chan struct{})}
	c.stop = sync.OnceFunc(func() { close(c.stopped) })
	t.Cleanup(func() { c.finish() })
	return c
}

// watch has servers asked, in order to know for how long they, or this process, stand still.
func (c *contenders) watch(servers []*redistest.Server) {
	c.wg.Go(func() {
		for {
			asked := time.Now()
			for _, s := range servers {
				s.Do("PING")
			}
			c.silence.Store(max(c.silence.Load(), int64(time.Since(asked))))
			select {
			case <-c.stopped:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// contend has so many callers take a lock again and again.
func (c *contenders) contend(callers int, l engine.Locker) {
	inside, _ := c.holders.LoadOrStore(l.Name(), new(judge.Inside))
	for range callers {
		c.wg.Go(func() {
			for c.pair(l, inside.(*judge.Inside)) {
				select {
				case <-c.stopped:
					return
				case <-time.After(rand.N(12 * time.Millisecond)): // the pace of calls, or they take the machine, from the servers too
				}
			}
		})
	}
}

// pair takes a lock and gives it back. False: something was wrong.
func (c *contenders) pair(l engine.Locker, inside *judge.Inside) bool {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	h, err := l.Lock(ctx)
	if err != nil {
		c.t.Errorf("Lock(%s): %v", l.Name(), err)
		return false
	}
	granted, weight := time.Now(), int64(judge.Whole)
	if _, shared := l.(readers); shared {
		weight = 1
	}
	if !inside.Enter(judge.Whole, weight) {
		c.t.Errorf("more hold %s than may", l.Name())
	}
	time.Sleep(50 * time.Microsecond) // sleeps: how long it is held
	inside.Leave(weight)
	err = h.Unlock(ctx)
	if errors.Is(err, engine.ErrUncertain) && c.silence.Load() > int64(200*time.Millisecond) {
		c.t.Logf("Unlock(%s), %v after the grant: %v", l.Name(), time.Since(granted), err)
		return true // a release had given it, for ten seconds at most less the time since it was asked for
	}
	if err != nil {
		c.t.Errorf("Unlock(%s), %v after the grant: %v", l.Name(), time.Since(granted), err)
		return false
	}
	c.pairs.Add(1)
	return true
}

// readers is a lock that several hold at a time.
type readers struct{ engine.Locker }

// finish stops the contenders and returns how often locks were taken.
func (c *contenders) finish() int64 {
	c.stop()
	c.wg.Wait()
	return c.pairs.Load()
}

// Waiters hear of an unlock wherever the slot has gone meanwhile: with an hour until they would ask by themselves,
// only a subscription that has followed wakes them.
// invariant: command-follows-its-slot
func TestClusterSubscriptionsFollowTheirSlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for _, pubsub := range []engine.PubSub{engine.PubSubSharded, engine.PubSubPlain, engine.PubSubBoth} {
		t.Run(pubsub.String(), func(t *testing.T) {
			slow := func(o *engine.Options) { o.PubSub, o.PollCap, o.Lease = pubsub, time.Hour, time.Hour }
			a, b := testkit.Join(t, c, slow), testkit.Join(t, c, slow)
			name := "followed:" + pubsub.String()
			for range testkit.Times(t, 50, 3) {
				held := testkit.MustLock(t, a.Mutex(name))
				waiter := b.Mutex(name).LockAsync(testkit.Soon(t))
				from := c.NodeOf(slotOf(name))
				awaitListeners(t, from, 1)
				to := other(c, slotOf(name))
				c.MoveSlot(slotOf(name), to)
				if pubsub != engine.PubSubPlain { // a plain one is heard wherever it stands
					awaitListeners(t, to, 1)
				}
				testkit.MustUnlock(t, held)
				testkit.MustUnlock(t, testkit.MustWait(t, waiter))
			}
		})
	}
}

func awaitListeners(t *testing.T, s *redistest.Server, least int) {
	t.Helper()
	redistest.Await(t, "somebody who listens at "+s.Addr(), func() bool { return s.Subscriptions().Count() >= least })
}

// A node that joins and takes over a slot is found by the first command that is sent on.
func TestClusterGrows(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	e := testkit.Join(t, c)
	held := testkit.MustLock(t, e.Mutex("grown"))
	added := c.AddMaster()
	c.MoveSlot(slotOf("grown"), added)
	testkit.WantIs(t, "TryLock", testkit.ResultOf(e.Mutex("grown").TryLock(testkit.Soon(t))), engine.ErrHeld)
	testkit.MustUnlock(t, held)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("grown")))
	if n := added.CommandCounts()["evalsha"]; n == 0 {
		t.Error("the new node ran no script")
	}
	if state, err := e.Mutex("grown").Inspect(testkit.Soon(t)); err != nil || state.Locked {
		t.Errorf("Inspect = %+v, %v; want it free", state, err)
	}
}

// Two nodes that each take the other for the master of a slot send a command to and fro: not for ever, and whoever
// waits has the lock when they agree.
// invariant: command-follows-its-slot
func TestClusterNodesThatDisagree(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	e := testkit.Join(t, c)
	_, _, agree := dispute(c, "disputed")
	_, err := e.Mutex("disputed").TryLock(testkit.Soon(t))
	if testkit.Mentions(t, err, "MOVED"); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("TryLock = %v, want ErrRefused", err)
	}
	_, err = e.Mutex("disputed").Inspect(testkit.Soon(t)) // by no dispatcher
	if testkit.Mentions(t, err, "MOVED"); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("Inspect = %v, want ErrRefused", err)
	}
	waiter := e.Mutex("disputed").LockAsync(testkit.Soon(t))
	agree()
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))
}

// dispute has two nodes each take the other for the master of a name's slot, until they agree on the second.
func dispute(c *redistest.Cluster, name string) (one, two *redistest.Server, agree func()) {
	slot := slotOf(name)
	one, two = c.NodeOf(slot), other(c, slot)
	number, ids := strconv.Itoa(slot), map[*redistest.Server]string{one: one.MustDo("CLUSTER", "MYID").Text, two: two.MustDo("CLUSTER", "MYID").Text}
	one.MustDo("CLUSTER", "SETSLOT", number, "NODE", ids[two])
	two.MustDo("CLUSTER", "SETSLOT", number, "NODE", ids[one])
	return one, two, func() {
		for _, node := range []*redistest.Server{two, one} {
			node.MustDo("CLUSTER", "SETSLOT", number, "NODE", ids[two])
		}
	}
}

// Nor does a subscription go to and fro between such nodes for ever. When they agree, it is heard again, and
// whoever waits asks.
// invariant: command-follows-its-slot
func TestClusterSubscriptionsAtNodesThatDisagree(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	slow := func(o *engine.Options) { o.PubSub, o.PollCap, o.Lease = engine.PubSubSharded, time.Hour, time.Hour }
	holder, waiter := testkit.Join(t, c, slow), testkit.Join(t, c, slow)
	testkit.MustLock(t, holder.Mutex("disputed"))
	next := waiter.Mutex("disputed").LockAsync(testkit.Soon(t))
	home := c.NodeOf(slotOf("disputed"))
	awaitListeners(t, home, 1)
	// Its last question for long leaves the place; a slot with keys is not given away.
	redistest.Await(t, "a place in line", func() bool { return home.MustDo("EXISTS", scripts.LineKey("disputed")).Int == 1 })
	home.MustDo("FLUSHALL")
	one, two, agree := dispute(c, "disputed")
	time.Sleep(500 * time.Millisecond) // sleeps: in this time a subscription could go to and fro a thousand times
	refused := 0
	for _, node := range []*redistest.Server{one, two} {
		_, said, _ := strings.Cut(resp.InfoFields(node.MustDo("INFO", "commandstats").Text)["cmdstat_ssubscribe"], "rejected_calls=")
		said, _, _ = strings.Cut(said, ",")
		n, _ := strconv.Atoi(said)
		refused += n
	}
	if refused == 0 || refused > 20 {
		t.Errorf("the nodes refused %d subscriptions in half a second", refused)
	}
	agree()
	testkit.MustUnlock(t, testkit.MustWait(t, next))
}
