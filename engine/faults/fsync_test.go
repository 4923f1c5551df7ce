package faults_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func onDisk(within time.Duration) func(*engine.Options) {
	return func(o *engine.Options) { o.Fsync = within }
}

func TestFsyncSaysAtOpenWhatItNeeds(t *testing.T) {
	t.Parallel()
	open := func(addr string, within time.Duration, want ...string) {
		t.Helper()
		opts := engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}, Fsync: within}
		e, err := engine.Open(testkit.Soon(t), opts)
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, engine.ErrInvalid) || errors.Is(err, engine.ErrUnavailable) {
			t.Fatalf("Open with Fsync %v: %v", within, err)
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v does not say %q", err, text)
			}
		}
	}
	old, newer := redistest.Start(t).Addr(), redistest.StartNewer(t).Addr()
	if version := redistest.Start(t).MustDo("INFO", "server").String(); strings.Contains(version, "redis_version:7.0") {
		open(old, time.Second, "Redis has since 7.2")
	}
	open(newer, time.Second, "appendonly")
	for _, within := range []time.Duration{-time.Second, time.Microsecond, time.Hour} {
		open(newer, within, "Fsync", "at most 1.5s")
	}
}

// What was granted with Fsync is on the disk: the server is killed, and has it when it comes back. While the disk has nothing,
// nothing is granted.
func TestFsyncGrantsWhatSurvivesTheServer(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"always", "everysec"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartNewer(t, "--appendonly", "yes", "--appendfsync", policy)
			e := testkit.Connect(t, server.Addr(), onDisk(1500*time.Millisecond))
			names := []string{"a", "b", "c"}
			var asked []*futures.Future[*engine.Hold]
			for _, name := range names {
				asked = append(asked, e.FencedMutex(name).LockAsync(testkit.Soon(t)))
			}
			held, err := futures.All(asked...).Wait(testkit.Soon(t))
			testkit.Must(t, err)
			server.Kill()
			server.Restart()
			for i, name := range names {
				state, err := testkit.Connect(t, server.Addr()).FencedMutex(name).Inspect(testkit.Soon(t))
				if err != nil || state.Owner != held[i].TenureID() {
					t.Errorf("after the crash %s has %q, want %q (%v)", name, state.Owner, held[i].TenureID(), err)
				}
			}
			for _, h := range held {
				testkit.MustUnlock(t, h)
			}
			testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("d"))) // its connection has broken, too
			server.MustDo("CONFIG", "SET", "appendonly", "no")
			testkit.WantIs(t, "TryLock without a file", testkit.ResultOf(e.Mutex("d").TryLock(testkit.Soon(t))), engine.ErrNotReplicated)
			server.MustDo("CONFIG", "SET", "appendonly", "yes")
			testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("d")))
		})
	}
}

// With "appendfsync no" Redis never says that anything is on the disk.
func TestFsyncOfAServerThatNeverSyncs(t *testing.T) {
	t.Parallel()
	server := redistest.StartNewer(t, "--appendonly", "yes", "--appendfsync", "no")
	e := testkit.Connect(t, server.Addr(), onDisk(50*time.Millisecond))
	testkit.WantIs(t, "TryLock", testkit.ResultOf(e.Mutex("a").TryLock(testkit.Soon(t))), engine.ErrNotReplicated)
	server.MustDo("CONFIG", "SET", "appendfsync", "always")
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("a")))
}
