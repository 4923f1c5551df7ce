package scale_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Each Observe has a connection of its own. As many as the client has by default do not take those for locks away. Not
// beside other tests: while a thousand connections are made, others of this process may wait for an answer for half a minute.
func TestManyWhoObserveLeaveLocksTheirConnections(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	ctx, stop := context.WithCancel(t.Context())
	var observers sync.WaitGroup
	for i := range rueidis.DefaultPoolSize {
		observers.Go(func() {
			for range elect.New(e, fmt.Sprint("shard:", i), elect.Options{}).Observe(ctx) {
			}
		})
	}
	listening := func() int64 { return int64(server.Subscriptions().Count()) } // each on a channel of its own
	for over := testkit.Reached(rueidis.DefaultPoolSize, listening); !over(); {
		time.Sleep(20 * time.Millisecond) // sleeps: the pace of questions
	}
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("beside")))
	stop()
	observers.Wait()
}
