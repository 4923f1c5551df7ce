package elect_test

import (
	"context"
	"testing"

	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A loop over the leaders that is left takes its connection along, though its context goes on.
func TestObserveThatIsLeftListensNoMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	el := elect.New(e, name, elect.Options{})
	go el.Run(ctx, func(ctx context.Context, _ int64) error { <-ctx.Done(); return nil })
	for range el.Observe(ctx) {
		redistest.Await(t, "a connection that listens", func() bool { return server.ClientCount("pubsub") == 1 })
		break
	}
	redistest.Await(t, "no connection that listens", func() bool { return server.ClientCount("pubsub") == 0 })
}
