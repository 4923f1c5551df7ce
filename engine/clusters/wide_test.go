package clusters_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// scriptCalls is how many calls of scripts the nodes have run.
func scriptCalls(nodes ...*redistest.Server) (n int64) {
	for _, node := range nodes {
		n += node.CommandCounts()["evalsha"]
	}
	return n
}

// unlockAll gives locks back, all at once.
func unlockAll(t *testing.T, holds []*engine.Hold) {
	t.Helper()
	var wg sync.WaitGroup
	for _, h := range holds {
		wg.Go(func() { testkit.MustUnlock(t, h) })
	}
	wg.Wait()
}

// A call carries names of any hash slots of a node, unless the engine keeps to declared keys.
// invariant: batch-error-charges-nobody
func TestClusterOneCallCarriesNamesOfManyHashSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	const names = 1000
	for _, s := range []struct {
		declared    bool
		least, most int64
	}{{false, 6, names / 2}, {true, 2 * names * 9 / 10, 2 * names}} {
		e := testkit.Join(t, c, testkit.Lease(time.Hour), func(o *engine.Options) {
			o.DeclaredKeysOnly, o.Redis.ConnWriteTimeout = s.declared, time.Minute // on a busy machine nothing is to be sent again
		})
		before := scriptCalls(c.Nodes...)
		holds := testkit.LockMany(t, e, "many", names)
		if keys := testkit.KeysIn(c); len(keys) != names {
			t.Errorf("%d keys, want %d", len(keys), names)
		}
		unlockAll(t, holds)
		if n := scriptCalls(c.Nodes...) - before; n < s.least || n > s.most {
			t.Errorf("declared keys only: %t: %d calls for %d pairs, want %d to %d", s.declared, n, names, s.least, s.most)
		}
		if keys := testkit.KeysIn(c); len(keys) != 0 {
			t.Errorf("%d keys are left", len(keys))
		}
	}
}

// A name that a call refuses is asked again alone, and charged to nobody else: one whose hash slot has moved, one whose keys are half at
// another node, one that this user may not use, one that is something else.
// invariant: batch-error-charges-nobody, command-follows-its-slot
func TestClusterOneCallIsRefusedNameByName(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	at := c.Nodes[0]
	for _, node := range c.Nodes {
		node.MustDo("ACL", "SETUSER", "some", "on", "nopass", "+@all", "&*", "~*name*", "%R~*")
	}
	e := testkit.Join(t, c, func(o *engine.Options) { o.Redis.Username = "some" })
	for _, first := range []string{"name", "moved"} { // where the first key of a call is decides about the call
		var names []string
		for i := range 20 {
			names = append(names, nameAt(t, c, fmt.Sprintf("%s:%s:%d", first, "name", i), at))
		}
		held := testkit.MustLock(t, e.Mutex(names[0]))
		moved, apart, foreign, denied := names[1], names[2], names[3], nameAt(t, c, "denied:"+first, at)
		c.MoveSlot(slotOf(moved), other(c, slotOf(moved)))
		move := c.BeginMove(slotOf(apart), other(c, slotOf(apart)))
		at.MustDo("SET", foreign, "a string")
		for kind, of := range []func(string) engine.Locker{
			func(name string) engine.Locker { return e.Mutex(name) },
			func(name string) engine.Locker { return e.FencedMutex(name) },
			func(name string) engine.Locker { return e.FairMutex(name) },
			func(name string) engine.Locker { return e.RWMutex(name).Reader() },
		} {
			var wg sync.WaitGroup
			for _, name := range append(names[1:], denied) {
				wg.Go(func() {
					h, err := of(name).TryLock(testkit.Soon(t))
					switch {
					case name == foreign && errors.Is(err, engine.ErrForeignKey), name == denied && errors.Is(err, engine.ErrRefused):
					case name == apart && kind > 0 && errors.Is(err, engine.ErrRefused): // it has several keys
					case err != nil:
						t.Errorf("TryLock(%s) = %v", name, err)
					default:
						testkit.MustUnlock(t, h)
					}
				})
			}
			wg.Wait()
		}
		testkit.MustUnlock(t, held)
		move.Complete()
		at.MustDo("DEL", foreign)
	}
}

// A node that refuses such calls gets smaller ones, for itself alone, and nobody sees an error: from Open on, or when it begins to refuse.
// It gets them again when its link is new.
// invariant: batch-error-charges-nobody
func TestClusterNodeRefusesWideCalls(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	at := c.Nodes[1]
	for how, script := range map[string]string{
		"the call":  "return redis.error_reply('ERR script tried accessing undeclared key')",
		"each name": "return -(2^51) - 8", // what prelude.lua makes of unknown words
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, later %t", how, later), func(t *testing.T) {
				r := &refuser{addr: at.Addr(), script: script}
				r.refuses.Store(!later)
				told := &mentionsOf{what: "refuses script calls"}
				e := testkit.Join(t, c, r.options, testkit.Lease(time.Hour), func(o *engine.Options) { o.Logger = slog.New(slog.NewTextHandler(told, nil)) })
				if later {
					unlockAll(t, testkit.LockMany(t, e, "before", 100))
					if n := e.Stats().Narrow; n != 0 || r.wide.Load() < 2 {
						t.Errorf("%d nodes refuse, %d wide calls; want 0, and at least 2", n, r.wide.Load())
					}
					r.refuses.Store(true)
				}
				unlockAll(t, testkit.LockMany(t, e, "first", 300))
				seen, elsewhere := r.wide.Load(), scriptCalls(c.Nodes[0])
				unlockAll(t, testkit.LockMany(t, e, "refused", 300))
				if n := r.wide.Load() - seen; n != 0 {
					t.Errorf("%d more wide calls", n)
				}
				if n := scriptCalls(c.Nodes[0]) - elsewhere; n > 100 {
					t.Errorf("%d calls at another node, for some 200 commands", n)
				}
				if n := e.Stats().Narrow; n != 1 || told.n.Load() != 1 {
					t.Errorf("%d nodes refuse, told %d times; want once each", n, told.n.Load())
				}
				r.refuses.Store(false)
				at.KillClients("normal")
				redistest.Await(t, "wide calls to a node that refuses none", func() bool {
					unlockAll(t, testkit.LockMany(t, e, "again", 30))
					return e.Stats().Narrow == 0 && r.wide.Load() > seen
				})
			})
		}
	}
}

// Hash slots move under load, one after the other, while each call carries names of many. Nobody sees an error, and no two hold a lock.
// invariant: command-follows-its-slot, batch-error-charges-nobody
func TestClusterKeepsLocksOfManySlotsWhileTheyMove(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	t.Run("key by key", func(t *testing.T) {
		moveUnderLoad(t, c, func(slot int, to *redistest.Server) { c.MoveSlot(slot, to) })
	})
	t.Run("at once", func(t *testing.T) {
		if first := slotOf("first"); !c.MigrateSlot(first, other(c, first)) {
			t.Skip("SKIPPED: masters of this server cannot move a slot by themselves, as those of Redis 8.6 and Valkey 9 do. NOT PROVED: that locks stay while they do.")
		}
		moveUnderLoad(t, c, func(slot int, to *redistest.Server) { c.MigrateSlot(slot, to) })
	})
}

// moveUnderLoad moves slots while callers lock and unlock.
func moveUnderLoad(t *testing.T, c *redistest.Cluster, move func(slot int, to *redistest.Server)) {
	t.Helper()
	a, b := testkit.Join(t, c), testkit.Join(t, c)
	callers := newContenders(t)
	callers.watch(c.Nodes)
	names := testkit.Spread("slots", 24)
	for _, name := range names {
		for _, e := range []*engine.Engine{a, b} {
			callers.contend(1, e.Mutex(name))
			for i, l := range testkit.Lockers(e, name) {
				if i == 5 { // a reader
					l = readers{l}
				}
				callers.contend(1, l)
			}
		}
	}
	for i := range testkit.Times(t, 300, 12) {
		slot, before := slotOf(names[i%len(names)]+":m"), callers.pairs.Load()
		move(slot, other(c, slot))
		redistest.Await(t, "locks taken after the move", func() bool { return callers.pairs.Load() > before+50 })
	}
	t.Logf("%d pairs", callers.finish())
	if n := a.Stats().Narrow + b.Stats().Narrow; n != 0 {
		t.Errorf("%d nodes are believed to refuse wide calls", n)
	}
}

// What a wide call granted is watched, and on a replica, name by name.
// invariant: replicas-acknowledge
func TestClusterNamesOfOneCallAreWatchedAndReplicated(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	e := testkit.Join(t, c, testkit.Lease(time.Hour), testkit.Replicas(1), func(o *engine.Options) { o.WatchLoss = true })
	holds := testkit.LockMany(t, e, "watched", 200)
	for i, h := range holds {
		if keys := c.NodeOf(slotOf(h.Name())).Keys(); i == 0 && len(keys) < 20 {
			t.Errorf("%d keys at a master", len(keys))
		}
		if err := h.Err(); err != nil {
			t.Errorf("%s: %v", h.Name(), err)
		}
	}
	lost := holds[7]
	c.NodeOf(slotOf(lost.Name())).MustDo("DEL", lost.Name())
	testkit.Receive(t, "word of a key that was deleted", lost.Done())
	for i, h := range holds {
		if i != 7 && testkit.Ended(h) {
			t.Errorf("%s has ended, too", h.Name())
		}
	}
	unlockAll(t, append(holds[:7:7], holds[8:]...))
}

// Hash slots that stay open on their way, for ever if a resharding was interrupted, hold up no mutex: neither theirs nor those that share their
// calls.
// invariant: command-follows-its-slot
func TestClusterMutexesGoOnWhileSlotsStayOpen(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a, b := testkit.Join(t, c), testkit.Join(t, c)
	var all []*contenders
	var open []*redistest.SlotMove
	for i, name := range testkit.Spread("open", 12) {
		callers := newContenders(t)
		all = append(all, callers)
		for _, e := range []*engine.Engine{a, b} {
			callers.contend(2, e.Mutex(name))
		}
		if i%3 == 0 {
			open = append(open, c.BeginMove(slotOf(name), other(c, slotOf(name))))
		}
	}
	for range testkit.Times(t, 20, 2) {
		for i, callers := range all {
			before := callers.pairs.Load()
			redistest.Await(t, fmt.Sprintf("pairs of name %d", i), func() bool { return callers.pairs.Load() > before+10 })
		}
		for _, move := range open {
			move.Keys(1)
		}
	}
	for _, callers := range all {
		callers.finish()
	}
	for _, move := range open {
		move.Complete()
	}
}
