package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// However many wait, and for however many names, an engine listens over one connection; and some time after the last
// one was served it listens to nothing.
func TestSubscriptionsShareAConnectionAndEnd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	onlyMessages := func(o *engine.Options) { o.PollCap = time.Hour }
	engines := []*engine.Engine{testkit.Connect(t, server.Addr(), onlyMessages), testkit.Connect(t, server.Addr(), onlyMessages)}
	const names, waiters = 5, 32
	var held []*engine.Hold
	for i := range names {
		held = append(held, testkit.MustLock(t, engines[0].Mutex(fmt.Sprint("stock:", i))))
	}
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			err := engine.Do(testkit.Soon(t), engines[i%2].Mutex(fmt.Sprint("stock:", i%names)), func(context.Context, *engine.Hold) error { return nil })
			check(t, "Do", err)
		})
	}
	redistest.Await(t, "all names to be listened for", func() bool { return len(server.Subscriptions().Channels) == names })
	redistest.Await(t, "all to wait", func() bool { return engines[0].Stats().Waiting+engines[1].Stats().Waiting == waiters })
	if n := server.ClientCount("pubsub"); n > len(engines) {
		t.Errorf("%d engines listen over %d connections", len(engines), n)
	}
	for _, h := range held {
		testkit.MustUnlock(t, h)
	}
	wg.Wait()
	redistest.Await(t, "nothing to be listened for", func() bool { return server.Subscriptions().Count() == 0 })
}
