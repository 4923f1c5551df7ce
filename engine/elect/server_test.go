package elect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// contest is an election on real servers: candidates, and one who observes.
type contest struct {
	*testing.T
	name  string
	ctx   context.Context
	stop  func() // ends all that it began
	wg    sync.WaitGroup
	began chan *elect.Election // a candidate leads
	seen  chan elect.Leader    // the observer was told

	leader *elect.Election
}

func newContest(t *testing.T, name string, observer *engine.Engine, candidates ...*engine.Engine) *contest {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := &contest{T: t, name: name, ctx: ctx, stop: stop, began: make(chan *elect.Election, 100), seen: make(chan elect.Leader, 100)}
	t.Cleanup(func() { stop(); c.wg.Wait() })
	view := elect.New(observer, name, elect.Options{})
	c.wg.Go(func() {
		for leader := range view.Observe(ctx) {
			c.seen <- leader
		}
	})
	for i, e := range candidates {
		el := elect.New(e, name, elect.Options{Identity: fmt.Sprint(i)})
		c.wg.Go(func() {
			err := el.Run(ctx, func(ctx context.Context, _ int64) error {
				c.began <- el
				<-ctx.Done()
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v", err)
			}
		})
	}
	return c
}

// leads waits until a candidate leads and the observer was told.
func (c *contest) leads() (told time.Duration) {
	c.Helper()
	c.leader = testkit.Receive(c, "a leader", c.began)
	l, err := c.leader.Leader(testkit.Soon(c))
	if err != nil {
		c.Fatalf("Leader = %v", err)
	}
	since := time.Now()
	for {
		select {
		case seen := <-c.seen:
			if seen.Term == l.Term {
				return time.Since(since)
			}
		case <-time.After(testkit.Patience):
			c.Fatalf("the observer was not told of %+v", l)
		}
	}
}

// resign has a leader resign. On a busy machine the answer of Redis may take a second, for which Resign waits; who leads next tells
// that the name became free.
func resign(t *testing.T, leader *elect.Election) {
	t.Helper()
	asked := time.Now()
	if err := leader.Resign(testkit.Soon(t)); err != nil && (!errors.Is(err, engine.ErrUncertain) || time.Since(asked) < time.Second) {
		t.Errorf("Resign = %v after %v", err, time.Since(asked))
	}
}

// handOver has leaders resign, some times. A message tells the observer long before it would ask again.
func (c *contest) handOver(times int) {
	c.Helper()
	if c.leader == nil {
		c.leads()
	}
	for range times {
		resign(c.T, c.leader)
		if told := c.leads(); told > 4*time.Second {
			c.Errorf("the observer was told after %v", told)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	t.Run("RESP2", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		open := func() *engine.Engine {
			return testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Redis.AlwaysRESP2 = true })
		}
		newContest(t, name, open(), open(), open()).handOver(3)
	})
	t.Run("the rights of SECURITY.md", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		server.MustDo(slices.Concat([]string{"ACL", "SETUSER", "locks", "reset", "on", ">password"}, testkit.AclRule(t))...)
		open := func() *engine.Engine {
			return testkit.Connect(t, server.Addr(), func(o *engine.Options) {
				o.Redis.Username, o.Redis.Password = "locks", "password"
				o.NameMapper = func(name string) string { return "app:" + name }
			})
		}
		newContest(t, "scheduler", open(), open(), open()).handOver(2)
		newContest(t, "{scheduler}:2", open(), open(), open()).handOver(2)
		for _, key := range server.Keys() {
			if !strings.Contains(key, "app:") {
				t.Errorf("the key %q has no prefix", key)
			}
		}
	})
	t.Run("a cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, 3, 0)
		for _, pubsub := range []engine.PubSub{engine.PubSubAuto, engine.PubSubPlain, engine.PubSubBoth} {
			talk := func(o *engine.Options) { o.PubSub = pubsub }
			newContest(t, pubsub.String(), testkit.Join(t, c, talk), testkit.Join(t, c, talk), testkit.Join(t, c, talk)).handOver(2)
		}
		contest := newContest(t, "moving", testkit.Join(t, c), testkit.Join(t, c), testkit.Join(t, c))
		contest.handOver(1)
		slot := c.Slot("moving")
		from := c.NodeOf(slot)
		c.MoveSlot(slot, c.Nodes[(slices.Index(c.Nodes, from)+1)%len(c.Nodes)])
		contest.handOver(3)
	})
	t.Run("a Sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t, 1)
		open := func() *engine.Engine {
			o := engine.Options{Lease: 3 * time.Second, Redis: rueidis.ClientOption{
				InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: redistest.MasterName},
			}}
			e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, o) })
			t.Cleanup(func() { e.Close() })
			return e
		}
		contest := newContest(t, name, open(), open(), open())
		contest.handOver(1)
		old := s.Node(s.Master())
		old.Kill()
		s.AwaitMaster(old.Addr())
		// The leader's hold may have been lost with the old master, or not. Somebody leads in any case, and is told of.
		view := elect.New(open(), name, elect.Options{})
		redistest.Await(t, "a leader at the new master", func() bool {
			_, err := view.Leader(testkit.Soon(t))
			return err == nil
		})
		current, stop := context.WithCancel(contest.ctx)
		defer stop()
		for leader := range view.Observe(current) {
			if l, err := view.Leader(testkit.Soon(t)); err == nil && l == leader {
				break
			}
		}
	})
}

// Every message is lost: the observer asks now and then.
func TestObserveWithoutMessages(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		lost := 0
		w.Server.LoseMessages(func() bool { lost++; return true })
		open := func() *engine.Engine { e, _ := w.Connect(); return e }
		c := newContest(w.T, name, open(), open(), open())
		c.leads()
		resign(w.T, c.leader)
		if told := c.leads(); told > 6*time.Second {
			w.T.Errorf("told after %v, and it asks every 5 s", told)
		}
		if lost == 0 {
			w.T.Error("no message was lost: the test proves nothing")
		}
	})
}

// A refusal that will pass ends neither a candidacy nor who observes.
func TestElectionsGoOnAfterRedisWasBusy(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		open := func() *engine.Engine { e, _ := w.Connect(); return e }
		c := newContest(w.T, name, open(), open(), open())
		c.leads()
		w.Server.Busy(true)
		time.Sleep(time.Minute)
		w.Server.Busy(false)
		c.leads()
	})
}

// The answers to Resign are lost: the leadership ends, the error says what is not known, and the engine frees the name.
func TestResignWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	first := newContest(t, name, testkit.Connect(t, server.Addr()), testkit.Connect(t, proxy.Addr()))
	first.leads()
	second := newContest(t, name, testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr()))

	proxy.SwallowReply(redistest.Swallow{Match: testkit.Digest(scripts.Release), Times: 2})
	if err := first.leader.Resign(testkit.Soon(t)); err != nil && !errors.Is(err, engine.ErrUncertain) {
		t.Errorf("Resign = %v", err)
	}
	for range 3 {
		if err := first.leader.Resign(testkit.Soon(t)); err != nil && !errors.Is(err, engine.ErrUncertain) {
			t.Errorf("Resign again = %v", err)
		}
	}
	first.stop() // or it may lead again, if the other is not quick to ask
	asked := time.Now()
	second.leads()
	if took := time.Since(asked); took > 10*time.Second { // the lease is 30 s
		t.Errorf("the next leader came after %v", took)
	}
	if proxy.Stats().Swallowed == 0 {
		t.Error("no answer was lost: the test proves nothing")
	}
}

// A key of another type beside the lock is left alone, and said to be foreign.
func TestForeignNote(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	server.MustDo("SET", scripts.LeaderKey(name), "mine")
	el := elect.New(e, name, elect.Options{})
	testkit.WantIs(t, "Leader", testkit.ResultOf(el.Leader(testkit.Soon(t))), engine.ErrForeignKey)
	err := el.Run(testkit.Soon(t), func(context.Context, int64) error { t.Error("it leads"); return nil })
	if !errors.Is(err, engine.ErrForeignKey) {
		t.Errorf("Run = %v, want ErrForeignKey", err)
	}
	if server.MustDo("GET", scripts.LeaderKey(name)).Text != "mine" {
		t.Error("the key was touched")
	}
	if keys := server.Keys(); slices.Contains(keys, name) {
		t.Errorf("the name was not given back: %q", keys)
	}
}
