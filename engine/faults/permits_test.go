package faults_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Redisson's waiters let so many in as the message says: of one permit freed it is how many there are now, of
// several and of new ones how many came.
func TestPermitMessages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	p, monitor := testkit.Connect(t, proxy.Addr()).PermitSemaphore("pool"), server.Monitor()
	if set, err := p.TrySetPermits(testkit.Soon(t), 7); !set || err != nil {
		t.Fatalf("TrySetPermits = %t, %v", set, err)
	}
	proxy.SwallowReply(redistest.Swallow{Match: testkit.Digest(scripts.PermitAdd)}) // sent again it adds nothing and tells nobody (invariant: change-has-one-effect)
	check(t, "AddPermits", p.AddPermits(testkit.Soon(t), 3))
	check(t, "AddPermits", p.AddPermits(testkit.Soon(t), -4))
	for _, n := range []int{1, 2} {
		h, err := p.Acquire(testkit.Soon(t), n)
		if err != nil {
			t.Fatal(err)
		}
		testkit.MustUnlock(t, h)
	}
	if free := server.MustDo("GET", "pool").Text; free != "6" {
		t.Errorf("free = %s, want 7 + 3 - 4", free)
	}
	wantPublished(t, monitor, scripts.SemaphoreChannel("pool"), "7", "3", "6", "2")
}

// The other party runs what Redisson's scripts run.
func TestHeldPermitsBesideRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.OnlyMessages)
	p := e.PermitSemaphore("pool")
	if set, err := p.TrySetPermits(testkit.Soon(t), 2); !set || err != nil {
		t.Fatalf("TrySetPermits = %t, %v", set, err)
	}
	theirs := "0123456789abcdef"
	server.MustDo("DECRBY", "pool", "1")
	server.MustDo("ZADD", "{pool}:timeout", "922337203685477", theirs) // for ever
	h, err := p.Acquire(testkit.Soon(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(server.MustDo("ZRANGE", "{pool}:timeout", "0", "0").Items[0].Text) != 16 {
		t.Error("a member is not 16 bytes long")
	}
	if err := p.Release(testkit.Soon(t), strings.Repeat("00", 16)); !errors.Is(err, engine.ErrLost) {
		t.Errorf("Release of nothing: %v, want ErrLost", err)
	}
	waiter := p.AcquireAsync(testkit.Soon(t), 1)
	redistest.Await(t, "it to stand in line", func() bool { return testkit.InLine(server, "pool") == 1 })
	server.MustDo("ZREM", "{pool}:timeout", theirs)
	server.MustDo("INCRBY", "pool", "1")
	server.MustDo("PUBLISH", "redisson_sc:{pool}", "1")
	second, err := waiter.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustUnlock(t, h)
	testkit.MustUnlock(t, second)
	if free := server.MustDo("GET", "pool").Text; free != "2" {
		t.Errorf("free = %s, want 2", free)
	}
	// One of theirs that has run out is reclaimed.
	server.MustDo("DECRBY", "pool", "2")
	server.MustDo("ZADD", "{pool}:timeout", "1", theirs, "1", "fedcba9876543210")
	if free, err := p.Available(testkit.Soon(t)); free != 2 || err != nil {
		t.Errorf("Available = %d, %v, want 2 after two have run out", free, err)
	}
}
