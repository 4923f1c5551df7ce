package target

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
)

// startEmbedded runs miniredis in this process, on a free loopback port, so that child processes reach it too.
func startEmbedded(ctx context.Context) (*Target, error) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("starting miniredis: %w", err)
	}
	server.ClockTTL(true) // else no lease would ever end
	t := &Target{
		Kind:    Embedded,
		Address: Address{Flags: redisflags.Flags{URL: "redis://" + server.Addr()}, Own: true, Single: true}, // it answers questions about clusters, wrongly
		shut:    func() error { server.Close(); return nil },
	}
	if err := t.connect(ctx); err != nil {
		t.Close()
		return nil, err
	}
	t.Product, t.Version = "", ""
	return t, nil
}
