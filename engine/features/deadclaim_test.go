package features_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A process that dies while it waits leaves a claim for two seconds at most, for which the lock may be taken. A waiter of Redisson sleeps
// until it is told 0 or 1, or until the lease that it saw would have ended. It is told, and sees two seconds at most.
func TestAClaimOfTheDeadStrandsNoWaiterOfRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	outside := testkit.NewOutsider(t, server.Addr())
	outside.Take("x", time.Minute)
	waiter := e.Mutex("x").LockAsync(testkit.Soon(t))
	redistest.Await(t, "a claim", func() bool { return server.MustDo("EXISTS", scripts.ClaimsKey("x")).Int == 1 })
	outside.Free("x")
	held, err := waiter.Wait(testkit.Soon(t))
	if err != nil {
		t.Fatal(err)
	}

	asks := make(chan string, 9)
	conn, release := outside.Client.Dedicate() // as Redisson listens
	defer release()
	defer conn.Close()
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		if m.Message == "0" || m.Message == "1" {
			asks <- m.Message
		}
	}})
	if err := conn.Do(context.Background(), conn.B().Subscribe().Channel(scripts.LockChannel("x")).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	const dead = "0b7d4c7e-0000-4000-8000-00000000dead" // it claimed, and died
	now := server.MustDo("TIME").Texts()
	var seconds, micros int64
	fmt.Sscan(now[0], &seconds)
	fmt.Sscan(now[1], &micros)
	micros += seconds * 1_000_000
	server.MustDo("HSET", scripts.ClaimsKey("x"), dead, fmt.Sprintf("%s:1 2305843009213693953 %d %d", dead, micros/1000+2000, micros))
	server.MustDo("PEXPIRE", scripts.ClaimsKey("x"), "2000")

	testkit.MustUnlock(t, held)
	select {
	case <-asks:
		if left := server.MustDo("PTTL", "x").Int; left > 2000 {
			t.Errorf("it is told to sleep for %d ms more", left)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("not told; the lock has the owners %q", testkit.Owners(server, "x"))
	}
}
