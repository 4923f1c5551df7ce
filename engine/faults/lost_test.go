package faults_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// The ways in which a key goes away behind its holder's back.
var removals = []struct {
	name   string
	remove func(s *redistest.Server, key string)
}{
	{"DEL", func(s *redistest.Server, key string) { s.MustDo("DEL", key) }},
	{"UNLINK", func(s *redistest.Server, key string) { s.MustDo("UNLINK", key) }},
	{"FLUSHALL", func(s *redistest.Server, key string) { s.MustDo("FLUSHALL") }},
	{"FLUSHDB ASYNC", func(s *redistest.Server, key string) { s.MustDo("FLUSHDB", "ASYNC") }},
	{"PEXPIRE", func(s *redistest.Server, key string) { s.MustDo("PEXPIRE", key, "-1") }}, // "1" would be renewed in time
	{"expiry", func(s *redistest.Server, key string) { // while the server is busy, or it would be renewed in time
		s.MustDo("EVAL", expire, "1", key)
	}},
	{"RENAME", func(s *redistest.Server, key string) {
		s.MustDo("RENAME", key, key+":moved")
		s.MustDo("DEL", key+":moved")
	}},
	{"SET", func(s *redistest.Server, key string) { s.MustDo("SET", key, "something else"); s.MustDo("DEL", key) }},
}

// expire has a key run out before anybody else is served. It counts, for the clock stands still in a script of Redis 7.2.
const expire = `redis.call('PEXPIRE', KEYS[1], 1)
for i = 1, 3000000 do end`

// loses takes the key of a hold away and returns how long it took until the hold had ended.
func loses(t *testing.T, s *redistest.Server, h *engine.Hold, remove func(*redistest.Server, string)) time.Duration {
	t.Helper()
	remove(s, h.Name())
	gone := time.Now()
	testkit.WantIs(t, "the hold", testkit.MustEnd(t, h), engine.ErrLost)
	testkit.WantIs(t, "unlock of a lost hold", h.Unlock(testkit.Soon(t)), engine.ErrLost)
	return time.Since(gone)
}

// With a lease of 30 s no renewal comes within ten: it is Redis who tells.
func TestFaultWatchLossTellsWithinARoundTrip(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.WatchLoss = true })
	for _, r := range removals {
		t.Run(r.name, func(t *testing.T) {
			var told []time.Duration
			for range testkit.Times(t, 200, 4) {
				h := testkit.MustLock(t, e.Mutex("watched"))
				time.Sleep(rand.N(time.Millisecond)) // sleeps: how long it is held
				told = append(told, loses(t, server, h, r.remove))
			}
			reportTold(t, told)
		})
	}
	t.Run("force-unlock", func(t *testing.T) {
		other := testkit.Connect(t, server.Addr())
		var told []time.Duration
		for range testkit.Times(t, 200, 4) {
			h := testkit.MustLock(t, e.Mutex("watched"))
			told = append(told, loses(t, server, h, func(*redistest.Server, string) {
				if freed, err := other.Mutex("watched").ForceUnlock(testkit.Soon(t)); !freed || err != nil {
					t.Errorf("force-unlock: %v, %v", freed, err)
				}
			}))
		}
		reportTold(t, told)
	})
	testkit.CheckQuiet(t, server, e, 0)
}

// reportTold checks that no hold had to wait for a renewal.
func reportTold(t *testing.T, told []time.Duration) {
	t.Helper()
	slices.Sort(told)
	worst := told[len(told)-1]
	t.Logf("%d losses told after %v in the middle, %v at worst", len(told), told[len(told)/2].Round(time.Microsecond), worst.Round(time.Microsecond))
	if worst > 5*time.Second {
		t.Errorf("a loss was told only after %v", worst)
	}
}

// Whatever made or kept the key ours, Redis watches it afterwards.
func TestFaultWatchLossAfterEveryCommand(t *testing.T) {
	server := redistest.Start(t)
	watch := func(o *engine.Options) { o.WatchLoss, o.HandoffTime = true, time.Millisecond }
	check := func(t *testing.T, h *engine.Hold) {
		t.Helper()
		if took := loses(t, server, h, removals[0].remove); took > 5*time.Second { // the next renewal comes after ten
			t.Errorf("told only after %v", took)
		}
	}
	e := testkit.Connect(t, server.Addr(), watch)
	t.Run("a renewal", func(t *testing.T) {
		h := testkit.MustLock(t, e.Mutex("renewed"))
		before := h.Deadline()
		server.MustDo("PEXPIRE", "renewed", "20000") // it is told of this too, and renews at once
		redistest.Await(t, "a renewal", func() bool { return h.Deadline().After(before) })
		check(t, h)
	})
	t.Run("a confirmation", func(t *testing.T) {
		first := testkit.MustLock(t, e.Mutex("passed"))
		second := e.Mutex("passed").LockAsync(testkit.Soon(t))
		redistest.Await(t, "the second to wait", func() bool { return e.Stats().Waiting == 1 })
		time.Sleep(5 * time.Millisecond) // sleeps: longer than HandoffTime, so it is to be confirmed
		id := first.TenureID()
		testkit.MustUnlock(t, first)
		h := testkit.MustWait(t, second)
		if h.TenureID() != id {
			t.Fatal("it was not handed on")
		}
		check(t, h)
	})
}

// A restart without persistence loses every lock: each of 1,000 holders is told within one renewal interval
// of the server's return, new locks work, and that the scripts are gone too is nobody's concern.
func TestFaultRestartWithoutPersistence(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		nothing := w.Server.Save()
		e, _ := w.Connect(testkit.Lease(15 * time.Second)) // renewed every 5 s
		holds := testkit.LockMany(w.T, e, "kept", 1000)
		w.Server.Stop()
		time.Sleep(time.Second)
		w.Server.Start(&nothing)
		back := time.Now()
		for _, h := range holds {
			if err := testkit.MustEnd(w.T, h); !errors.Is(err, engine.ErrLost) {
				w.T.Errorf("%s ended with %v", h.Name(), err)
			}
		}
		if told := time.Since(back); told > 5*time.Second {
			w.T.Errorf("the last of them was told %v after the restart", told)
		}
		for _, h := range testkit.LockMany(w.T, e, "kept", 1000) {
			testkit.MustUnlock(w.T, h)
		}
		w.Quiet(e, 0)
	})
}
