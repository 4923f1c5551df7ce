package features_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// A process that dies while it waits leaves its place in line. The next release passes it over, and wakes a waiter of Redisson, which sleeps
// until it is told.
func TestAPlaceOfTheDeadStrandsNoWaiterOfRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	held := testkit.MustLock(t, e.Mutex("x"))
	asks := make(chan string, 9)
	waiter := testkit.NewOutsider(t, server.Addr()) // as Redisson listens
	conn, release := waiter.Client.Dedicate()
	defer release()
	defer conn.Close()
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { asks <- m.Message }})
	testkit.Must(t, conn.Do(context.Background(), conn.B().Subscribe().Channel(scripts.LockChannel("x")).Build()).Error())
	const dead = "0b7d4c7e-0000-8000-8000-00000000dead"
	server.MustDo("ZADD", scripts.LineKey("x"), "1", dead+":1 2305843009213693953")
	testkit.MustUnlock(t, held)
	select {
	case said := <-asks:
		if said != "0" {
			t.Errorf("told %q", said)
		}
	case <-time.After(10 * time.Second):
		t.Error("not told")
	}
	if n := server.MustDo("EXISTS", "x", scripts.LineKey("x")).Int; n != 0 {
		t.Errorf("the lock has the owners %q, the line %q", testkit.Owners(server, "x"), server.MustDo("ZRANGE", scripts.LineKey("x"), "0", "-1").Texts())
	}
}
