package polyglot

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// TestQuorum: on the majority of three servers each library and a SimpleQuorum wait for each other, and exclude each other, also when one
// server is gone.
func TestQuorum(t *testing.T) {
	t.Parallel()
	require(t)
	for _, l := range libraries {
		if !l.quorum {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			servers := []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)}
			theirs := l.process(t, servers...)
			q := &quorum{servers, theirs, simpleQuorum(t, servers)}
			t.Run("ours holds", q.theyWait)
			t.Run("theirs holds", q.weWait)
			q.contend(t, l.name)
			servers[2].Kill()
			t.Run("ours holds, a server is gone", q.theyWait)
			t.Run("theirs holds, a server is gone", q.weWait)
			t.Run("theirs is killed", q.kill)
		})
	}
}

// quorum is a library and engines on three servers.
type quorum struct {
	servers []*redistest.Server
	theirs  *interop.Side
	ours    func(name string) engine.Locker
}

// simpleQuorum is a process with an engine on each server.
func simpleQuorum(t *testing.T, servers []*redistest.Server) func(name string) engine.Locker {
	var all []*engine.Engine
	for _, server := range servers {
		all = append(all, testkit.Connect(t, server.Addr()))
	}
	return func(name string) engine.Locker {
		l, err := engine.SimpleQuorum(name, all...)
		must(err)
		return l
	}
}

func (q *quorum) theyWait(t *testing.T) {
	h := testkit.MustLock(t, q.ours("ours"))
	if got := q.theirs.Do("lock ours %d 0", long); got != "false" {
		t.Fatalf("they lock beside our hold: %s", got)
	}
	answer := q.theirs.Start("lock ours %d %d", long, long)
	testkit.MustUnlock(t, h)
	if got := testkit.Receive(t, "their waiter", answer); got != "ok true" {
		t.Fatalf("their waiter: %s", got)
	}
	q.theirs.Do("extend ours")
	q.theirs.Do("unlock ours")
}

func (q *quorum) weWait(t *testing.T) {
	if got := q.theirs.Do("lock theirs %d %d", long, long); got != "true" {
		t.Fatalf("they lock a free name: %s", got)
	}
	testkit.WantIs(t, "our TryLock beside their hold", testkit.ResultOf(q.ours("theirs").TryLock(testkit.Soon(t))), engine.ErrHeld)
	waiter := q.ours("theirs").LockAsync(context.Background())
	q.theirs.Do("extend theirs")
	q.theirs.Do("unlock theirs")
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))
}

func (q *quorum) kill(t *testing.T) {
	q.theirs.Do("lock dead %d 0", lease.Milliseconds())
	waiter := q.ours("dead").LockAsync(context.Background())
	q.theirs.Kill()
	killed := time.Now()
	left := time.Duration(q.servers[1].MustDo("PTTL", "dead").Int) * time.Millisecond
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))
	if waited := time.Since(killed); left <= 0 || waited < left-2*time.Millisecond {
		t.Errorf("with %v left, our waiter had the lock after %v", left, waited)
	}
}

func (q *quorum) contend(t *testing.T, name string) {
	one := &party{what: "our process", callers: 2, ours: ours(false, q.ours)}
	another := &party{what: "our other process", callers: 2, ours: ours(false, simpleQuorum(t, q.servers))}
	them := &party{what: name, callers: 2, theirs: q.theirs}
	fight{"contended", 2 * fightFor(), time.Millisecond, time.Minute}.run(t, q.servers[0], one, another, them)
	if one.sections+another.sections == 0 || them.sections == 0 {
		t.Error("one side never had it")
	}
}
