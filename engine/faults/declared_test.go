package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// With DeclaredKeysOnly a reader that leaves does not look whether the others are alive, which is at keys of theirs.
func TestDeclaredKeysOnly(t *testing.T) {
	t.Parallel()
	for _, only := range []bool{false, true} {
		server := redistest.Start(t)
		declared := func(o *engine.Options) { o.DeclaredKeysOnly = only }
		e, other := testkit.Connect(t, server.Addr(), declared), testkit.Connect(t, server.Addr(), declared)
		mine, theirs := testkit.MustLock(t, e.RWMutex("stock:7").Reader()), testkit.MustLock(t, other.RWMutex("stock:7").Reader())
		monitor := server.Monitor()
		testkit.MustUnlock(t, mine)
		looked := 0
		for _, line := range monitor.Stop() {
			if strings.Contains(line, "lua") && strings.Contains(line, theirs.TenureID()+":rwlock_timeout:") {
				looked++
			}
		}
		if looked > 0 == only {
			t.Errorf("DeclaredKeysOnly %t: it looked %d times at another reader's key", only, looked)
		}
		testkit.MustUnlock(t, theirs)
		testkit.MustUnlock(t, testkit.MustLock(t, e.RWMutex("stock:7").Writer()))
		testkit.CheckQuiet(t, server, e, 0)
	}
}

// The probe of the rights is declared, too. A user that may not use its key opens all the same.
func TestDeclaredKeysOnlyOpensForLimitedUsers(t *testing.T) {
	server := redistest.Start(t)
	opts := limitedTo(server, "~allowed:*", "&*", "+@all")
	opts.DeclaredKeysOnly = true
	testkit.MustUnlock(t, testkit.MustLock(t, openLimited(t, opts).Mutex("allowed:1")))
	opts = limitedTo(server, "~*", "&*", "+@all", "-zadd")
	opts.DeclaredKeysOnly = true
	mustNotOpen(t, opts, engine.ErrRefused, "zadd")
}

// What it costs: a reader whose process has died keeps writers out until the lock's TTL is over.
func TestDeclaredKeysOnlyLeavesDeadReadersToTheTTL(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, _ := w.Connect(testkit.Lease(time.Second), func(o *engine.Options) { o.DeclaredKeysOnly = true })
		h := testkit.MustLock(w.T, e.RWMutex("stock:7").Reader())
		w.Server.Do("HSET", "stock:7", virtual.Outsider, "1") // of a process that has died
		testkit.MustUnlock(w.T, h)
		if got := w.Server.Do("PTTL", "stock:7").Int; got <= 0 || got > 1000 {
			w.T.Errorf("the lock lasts for %d ms, want what is left of a second", got)
		}
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.RWMutex("stock:7").Writer()))
	})
}
